//! Checks that every packet fits into one opportunity of a recorded trace. Models of radio links have no such limit.

use crate::network::{Network, NetworkApp};
use traffic::Traffic;
use units::{Bytes, Problem, shown};

/// Rejects a trace whose opportunities are smaller than a packet that an application sends over the link. Variable
/// options (SACK, AccECN) do not count: if they make a packet too large, the next opportunity sends the rest of the
/// packet.
pub(crate) fn check_sizes(network: &Network, problems: &mut Vec<Problem>) {
    if network.links.iter().all(|l| l.declared.service.delivery().is_none()) {
        return;
    }
    for app in &network.apps {
        let size = largest(app, network);
        for server in &app.to {
            let both = [(app.from, *server), (*server, app.from)];
            for i in both.into_iter().flat_map(|(a, b)| network.path(a, b).unwrap_or_default()) {
                let link = &network.links[usize::from(i)];
                let most = link.declared.service.delivery().and_then(port::Delivery::largest);
                let Some(most) = most.filter(|most| *most < size) else { continue };
                let name = link.name.trim_start_matches('~');
                let message = format!(
                    "{most} is less than a packet of app.{}, {size}; expected at least {size}, or smaller packets (`mss`, `size`)",
                    shown(&app.name)
                );
                problems.push(Problem::new("delivery.trace.opportunity", message).under(name).under("link"));
                return;
            }
        }
    }
}

/// Returns the size of an application's largest packet, with headers but without variable options.
fn largest(app: &NetworkApp, network: &Network) -> Bytes {
    let traffic = &app.declared.traffic;
    let tree = serde_json::to_value(traffic).unwrap_or_default();
    let given = |key: &str| tree[traffic.name()][key].as_str().and_then(|text| text.parse::<Bytes>().ok());
    let datagram = ["size", "audio_size", "packet", "mtu"].into_iter().filter_map(given).max();
    let datagrams = match traffic {
        Traffic::Game(_) => return Bytes(traffic::LARGEST_GAME_PACKET),
        Traffic::Burst(_) => tree[traffic.name()]["transport"] == "udp",
        _ => traffic.is_datagrams(),
    };
    if let Some(size) = datagram.filter(|_| datagrams) {
        return size;
    }
    let stacks = app.stacks.map(|i| &network.stacks[usize::from(i)]);
    let full =
        |stack: &tcp::TcpParams| stack.wire.packet_size(&tcp::Segment::default()) as u64 + u64::from(stack.wire.mss);
    Bytes(stacks.map(full).into_iter().max().unwrap_or_default())
}
