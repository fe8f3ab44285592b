//! The files of a seed: `meta-data`, `user-data` and, where the table has a network, `network-config`.
//!
//! The instance id is the host name and a digest of all that the seed says: two nodes never share one, an edited seed is
//! taken at the next boot, the same one changes nothing.

use super::netplan;
use super::valid::Node;
use dtnforge_profiles::digest::Digest;
use serde_json::{Map, Value, json};

/// First line of user-data after `#cloud-config`: tells our files from those of others.
pub const MARK: &str = "# Made by `dtnforge seed`: edit the table of nodes, not this file.";
/// Where loose reverse-path filtering is set. No profile has this knob, and no file of ours is beside it.
const SYSCTL_FILE: &str = "/etc/sysctl.d/60-dtnforge-seed.conf";
const SYSCTL: &str = "# Made by `dtnforge seed`: this node answers on the port that was asked, whatever the main table says.\n\
                      net.ipv4.conf.all.rp_filter = 2\nnet.ipv4.conf.default.rp_filter = 2\n";
/// Characters of the digest in an instance id.
const ID_DIGITS: usize = 16;

/// All that one node is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seed {
    /// Host name; names the output.
    pub name: String,
    /// SMBIOS serial number, when the table has it.
    pub serial: Option<String>,
    /// Whether it holds a password hash.
    pub secret: bool,
    /// Whether the image needs netplan.io.
    pub needs_netplan: bool,
    /// What makes this seed another one than any other.
    pub instance_id: String,
    /// File names and contents, in a fixed order.
    pub files: Vec<(&'static str, String)>,
}

impl Seed {
    /// The seed of a node.
    ///
    /// # Errors
    /// The site's decisions have no TOML form.
    pub fn of(node: &Node) -> Result<Self, toml::ser::Error> {
        let user_data = format!("#cloud-config\n{MARK}\n{}", text(&user_data(node)?));
        let network = netplan::config(node).map(|config| text(&config));
        let content = format!(
            "{}\0{user_data}\0{}",
            node.name,
            network.as_deref().unwrap_or_default()
        );
        let digest = Digest::of(content.as_bytes());
        let short: String = digest.as_str().chars().take(ID_DIGITS).collect();
        let instance_id = format!("{}-{short}", node.name);
        let meta_data = text(&json!({ "instance-id": instance_id, "local-hostname": node.name }));
        let mut files = vec![("meta-data", meta_data), ("user-data", user_data)];
        files.extend(network.map(|network| ("network-config", network)));
        Ok(Self {
            name: node.name.clone(),
            serial: node.serial.clone(),
            secret: node.root_password_hash.is_some(),
            needs_netplan: node.needs_netplan(),
            instance_id,
            files,
        })
    }
}

fn text(value: &Value) -> String {
    format!("{value:#}\n")
}

fn user_data(node: &Node) -> Result<Value, toml::ser::Error> {
    let mut data = Map::new();
    let mut put = |key: &str, value: Value| data.insert(key.to_owned(), value);
    put("hostname", json!(node.name));
    if let Some(domain) = &node.domain {
        put("fqdn", json!(format!("{}.{domain}", node.name)));
    }
    // Root is the administrator of our images; no other user is made.
    put("users", json!([]));
    put("disable_root", json!(false));
    if !node.ssh_authorized_keys.is_empty() {
        put("ssh_authorized_keys", json!(node.ssh_authorized_keys));
    }
    if let Some(hash) = &node.root_password_hash {
        let root = json!({ "name": "root", "password": hash, "type": "hash" });
        put("chpasswd", json!({ "expire": false, "users": [root] }));
    }
    if !node.ntp.is_empty() {
        put(
            "ntp",
            json!({ "enabled": true, "ntp_client": "chrony", "servers": node.ntp }),
        );
    }
    let mut files = vec![file("/etc/dtnforge/site.toml", &toml::to_string(&node.site)?)];
    if node.routes_by_policy() {
        files.push(file(SYSCTL_FILE, SYSCTL));
        // On the boot that brings the seed systemd-sysctl has run already.
        put(
            "runcmd",
            json!([["/usr/lib/systemd/systemd-sysctl", SYSCTL_FILE]]),
        );
    }
    put("write_files", Value::Array(files));
    Ok(Value::Object(data))
}

fn file(path: &str, content: &str) -> Value {
    json!({ "path": path, "content": content, "owner": "root:root", "permissions": "0644" })
}
