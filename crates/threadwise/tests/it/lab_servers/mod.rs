//! Studies of real servers and the tools that load them: `cargo xtask lab servers`.

pub mod command_tools;
pub mod connections;
pub mod cost;
pub mod firebird;
pub mod observe;
pub mod reload_input;
pub mod servers;
pub mod worklist;

/// One block of cached reads on a private server of each.
#[test]
#[ignore = "laboratory: servers"]
fn smoke_a_small_study_of_each_server() {
    for engine in ["postgres", "mariadb", "firebird"] {
        let lab = servers::lab();
        let text = servers::study(engine, "logical-io", "blocks = 400\nwork_unit = 32");
        let said = servers::run(&lab, &text.replace("blocks = 2\n", "blocks = 1\n"));
        assert_eq!(said.code, Some(0), "{engine}:\n{}\n{}", said.stdout, said.stderr);
        servers::every_run_is_valid(&lab, 1);
        assert_eq!(lab.leftovers(), [] as [String; 0], "{engine}");
    }
}
