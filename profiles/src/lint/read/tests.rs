//! The readers, held against what their manual pages say.

use super::*;
use crate::lint::setting::{Device, What};

fn script(text: &str) -> Vec<String> {
    let found = commands(text);
    let calls = found.iter().flat_map(settings_of);
    calls
        .map(|call| format!("{} = {}", call.what, call.value))
        .collect()
}

#[test]
fn sysctl_d_has_comments_quiet_keys_exclusions_and_both_spellings() {
    let text = "# comment\n ; comment\n\nnet.core.rmem_max = 1\n-net/core/wmem_max=2\n-net.ipv4.conf.lo.rp_filter\nnonsense\n= 3\n";
    let file = SysctlFile::read(text);
    let read: Vec<_> = file
        .assignments
        .iter()
        .map(|line| (line.line, line.key.to_string(), line.value.as_deref(), line.quiet))
        .collect();
    assert_eq!(
        read,
        [
            (4, "net.core.rmem_max".to_owned(), Some("1"), false),
            (5, "net.core.wmem_max".to_owned(), Some("2"), true),
            (6, "net.ipv4.conf.lo.rp_filter".to_owned(), None, true),
        ]
    );
    assert_eq!(file.bad.iter().map(|bad| bad.line).collect::<Vec<_>>(), [7, 8]);
}

#[test]
fn tuned_conf_has_sections_inline_comments_and_values_over_several_lines() {
    let text = "[main]\ninclude=a # why\n[sysctl]\nx.y=\"1 2\n  3\"\n; comment\n[net]\nring=rx 1#2\n";
    let read: Vec<_> = Ini::read(text)
        .entries
        .into_iter()
        .map(|entry| (entry.line, entry.section, entry.option, entry.value))
        .collect();
    let entry = |line, section: &str, option: &str, value: &str| {
        (line, section.to_owned(), option.to_owned(), value.to_owned())
    };
    assert_eq!(
        read,
        [
            entry(2, "main", "include", "a"),
            entry(4, "sysctl", "x.y", "\"1 2 3\""),
            entry(8, "net", "ring", "rx 1#2"),
        ]
    );
}

#[test]
fn rates_of_tc_are_bits_or_bytes() {
    for (text, bits, in_bytes) in [
        ("10gbit", 1e10, false),
        ("1gbps", 8e9, true),
        ("2000Mbps", 1.6e10, true),
        ("1kibit", 1024.0, false),
        ("800", 800.0, false),
        ("1.5gbit", 1.5e9, false),
    ] {
        assert_eq!(Rate::parse(text), Some(Rate { bits, in_bytes }), "{text}");
    }
    for text in ["", "gbit", "10parsec", "-1gbit", "1e400gbit", "nan"] {
        assert_eq!(Rate::parse(text), None, "{text:?}");
    }
}

#[test]
fn a_udev_rule_may_be_folded_and_escaped_and_a_broken_one_is_named() {
    let text = "# c\nACTION==\"add\", \\\n  ATTR{mtu}=\"9000\", ENV{x}=\"a \\\"b\\\"\"\nACTION=add\nRUN{program}+=\"/bin/true\n";
    let (rules, bad) = rules(text);
    assert_eq!(rules.len(), 1);
    let tokens = &rules[0].tokens;
    assert_eq!((rules[0].line, tokens.len()), (2, 3));
    assert_eq!(
        (tokens[1].attribute.as_str(), tokens[2].value.as_str()),
        ("mtu", "a \"b\"")
    );
    assert_eq!(bad.iter().map(|bad| bad.line).collect::<Vec<_>>(), [4, 5]);
}

#[test]
fn a_rule_sets_attributes_sysctls_and_what_its_programs_set() {
    let text = "SUBSYSTEM==\"net\", KERNEL==\"en*\", ATTR{tx_queue_len}=\"1\", SYSCTL{net.core.somaxconn}=\"2\", \
                RUN+=\"/bin/sh -c 'ethtool -K $name lro off gro on'\"\n";
    let (rules, _) = rules(text);
    let calls = udev_calls(&rules[0]).into_iter();
    assert_eq!(
        calls
            .map(|call| format!("{} = {}", call.what, call.value))
            .collect::<Vec<_>>(),
        [
            "nic/en*:txqueuelen = 1",
            "net.core.somaxconn = 2",
            "nic/en*:feature.lro = off",
            "nic/en*:feature.gro = on",
        ]
    );
}

#[test]
fn a_script_gives_its_simple_commands_and_nothing_is_run() {
    let text = "#!/bin/sh\nPATH=/sbin tc qdisc replace dev eth0 root handle 1: fq maxrate 2gbit # pace\n\
                if ! sysctl -q -w 'net.ipv4.tcp_rmem=4096 131072 1'; then exit 1; fi\n\
                for i in 1 2; do ip -b x link set dev $nic mtu 9000 txqueuelen 1; done\n\
                echo 4 > /proc/sys/vm/swappiness && echo none 2>/dev/null >/sys/block/sda/queue/scheduler\n\
                cat <<'EOF'\ntc qdisc replace dev lo root fq\nEOF\nethtool -G \\\n  eth1 rx 2048\n\
                echo \"tc qdisc add dev eth9 root tbf\"\n";
    assert_eq!(
        script(text),
        [
            "qdisc/eth0:root = fq",
            "net.ipv4.tcp_rmem = 4096 131072 1",
            "vm.swappiness = 4",
            "block/sda:scheduler = none",
            "nic/eth1:ring.rx = 2048",
        ]
    );
}

#[test]
fn a_variable_is_no_value_and_a_quoted_text_is_no_command() {
    let text = "sysctl -w net.ipv4.conf.$IF.rp_filter=1 net.core.rmem_max=${MAX} net.core.somaxconn=`nproc`\n\
                # it's a comment\necho \"\ntc qdisc replace dev eth0 root fq\n\" > /tmp/x # don't\n\
                ethtool -G eth0 rx $MAX tx 512\ntc qdisc replace dev $IF root fq maxrate ${R}mbps\n\
                echo '\nethtool -K eth0 lro on'\n";
    assert_eq!(script(text), ["nic/eth0:ring.tx = 512", "qdisc/$IF:root = fq"]);
}

#[test]
fn a_unit_gives_its_exec_lines_and_whether_they_may_fail() {
    let text = "[Unit]\nDescription=tc qdisc add dev eth0 root fq\n[Service]\nExecStartPre=-/sbin/ethtool -A eth0 rx off\n\
                ExecStart=/sbin/ifconfig eth0 txqueuelen 5 mtu 9000\n";
    let found = commands(text);
    let strict: Vec<_> = found
        .iter()
        .map(|command| (command.line, command.stops_unit))
        .collect();
    assert_eq!(strict, [(4, false), (5, true)]);
    assert_eq!(
        script(text),
        [
            "nic/eth0:pause.rx = off",
            "nic/eth0:txqueuelen = 5",
            "nic/eth0:mtu = 9000"
        ]
    );
}

#[test]
fn a_device_is_a_name_a_glob_or_unknown() {
    let nic = |text: &str| match settings_of(&commands(&format!("ethtool -G '{text}' rx 1"))[0])
        .remove(0)
        .what
    {
        What::Nic(device, _) => device,
        other => panic!("{other}"),
    };
    assert_eq!(nic("eth0"), Device::Named("eth0".to_owned()));
    assert_eq!(nic("en*"), Device::Patterns(vec!["en*".to_owned()]));
    assert_eq!(nic("$IF"), Device::Unknown("$IF".to_owned()));
    assert!(
        nic("eth0").meets(&nic("e*")) && !nic("eth0").meets(&nic("$IF")) && nic("eth0").may_be(&nic("$IF"))
    );
    assert!(!nic("nvme*").meets(&nic("sd*")) && Device::all().meets(&nic("sd*")));
}
