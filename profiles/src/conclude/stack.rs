//! What is stacked on a port: its bond, their VLANs, the bridge that they are members of.

use crate::facts::{Facts, Nic};

/// The interface itself and all above it, each once.
pub(super) fn above<'a>(nic: &'a Nic, facts: &'a Facts) -> Vec<&'a Nic> {
    let mut found = vec![nic];
    let mut next = 0;
    while let Some(below) = found.get(next).copied() {
        next += 1;
        for other in &facts.nics {
            let known = found.iter().any(|known| std::ptr::eq(*known, other));
            if !known && is_on(other, below) {
                found.push(other);
            }
        }
    }
    found
}

fn is_on(upper: &Nic, lower: &Nic) -> bool {
    let named = |name: &Option<String>| name.is_some() && *name == lower.name;
    let is_vlan = matches!(upper.kind.as_deref(), Some("vlan" | "virtual"));
    let is_member = || {
        upper
            .members
            .iter()
            .flatten()
            .any(|member| Some(member) == lower.name.as_ref())
    };
    (is_vlan && named(&upper.parent)) || (upper.name.is_some() && upper.name == lower.master) || is_member()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bridge_on_a_vlan_on_a_bond_is_above_a_leg_and_a_circle_ends() {
        let facts: Facts = toml::from_str(
            "[[nic]]\nname = 'p0'\nmaster = 'bond0'\n[[nic]]\nname = 'bond0'\nkind = 'bond'\n\
             [[nic]]\nname = 'bond0.7'\nkind = 'vlan'\nparent = 'bond0'\n\
             [[nic]]\nname = 'br0'\nkind = 'bridge'\nmembers = ['bond0.7', 'br0']\nmaster = 'p0'\n\
             [[nic]]\nname = 'p1'\n[[nic]]\nname = 'vf'\nkind = 'vf'\nparent = 'p0'\n",
        )
        .unwrap();
        let names: Vec<_> = above(&facts.nics[0], &facts)
            .iter()
            .filter_map(|nic| nic.name.as_deref())
            .collect();
        assert_eq!(names, ["p0", "bond0", "bond0.7", "br0"]);
    }
}
