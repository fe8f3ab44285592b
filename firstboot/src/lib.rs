//! `dtn-firstboot`: the agent on the node.
