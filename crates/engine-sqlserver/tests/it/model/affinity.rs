//! The server's own CPU affinity.

use super::{Call, Handler, NAME, rows};
use threadwise_tds::{Message, Reply, Type, Value};

pub const STATEMENTS: &[(&str, Handler)] = &[
    (include_str!("../../../src/sql/affinity.sql"), schedulers),
    (include_str!("../../../src/sql/may_bind.sql"), |call| {
        rows(
            [Type::Int, NAME],
            vec![[Value::Int(i64::from(call.settings.may_bind)), Value::text("DBHOST\\A")]],
        )
    }),
    (include_str!("../../../src/sql/others.sql"), |call| {
        let row = |(login, program): &(&str, &str)| [Value::text(login), Value::text(program)];
        rows([NAME; 2], call.state.connected.iter().map(row).collect())
    }),
    (TURN, |call| {
        call.state.turn = Some(call.connection);
        rows([Type::Int], vec![[Value::Int(1)]])
    }),
    (include_str!("../../../src/sql/affinity_turn_over.sql"), |call| {
        assert_eq!(call.state.turn.take(), Some(call.connection));
        Vec::new()
    }),
    (SET, alter),
];

/// What gives a session its turn, and what it does in it.
pub const TURN: &str = include_str!("../../../src/sql/affinity_turn.sql");
pub const SET: &str = include_str!("../../../src/sql/set_affinity.sql");

fn schedulers(call: &mut Call<'_>) -> Vec<Reply> {
    if !call.settings.may_look {
        let text = "VIEW SERVER STATE permission was denied on object 'server', database 'master'.";
        return vec![Reply::Error(Message::new(300, text))];
    }
    let chosen = &call.state.affinity;
    let row = |&(cpu, node): &(u32, u32)| {
        let is_online = chosen.as_ref().is_none_or(|chosen| chosen.contains(&cpu));
        [cpu, node, u32::from(is_online), u32::from(chosen.is_none())].map(|number| Value::Int(number.into()))
    };
    rows([Type::Int; 4], call.settings.cpus.iter().map(row).collect())
}

/// Numbers and ranges such as `0 TO 3, 8`.
fn alter(call: &mut Call<'_>) -> Vec<Reply> {
    let list = call.places["list"].clone();
    if call.state.affinity_fails > 0 {
        call.state.affinity_fails -= 1;
        return vec![Reply::Error(Message::new(
            5833,
            "The affinity mask specified is greater than the number of CPUs.",
        ))];
    }
    let range = |part: &str| -> Vec<u32> {
        let (first, last) = part.split_once(" TO ").unwrap_or((part, part));
        (first.parse().unwrap()..=last.parse().unwrap()).collect()
    };
    let chosen = (list != "AUTO").then(|| list.split(", ").flat_map(range).collect::<Vec<u32>>());
    let all: Vec<u32> = call.settings.cpus.iter().map(|(cpu, _)| *cpu).collect();
    assert!(chosen.iter().flatten().all(|cpu| all.contains(cpu)), "{list}");
    call.state.affinity = chosen;
    call.state.affinities.push(list);
    Vec::new()
}
