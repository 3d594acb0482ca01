//! The world held to a real API server and scheduler: every field of every answer, but for what a list gives reasons for.

#![allow(clippy::panic)]

use control_plane::{
    compare::{
        known,
        private::on_private_servers,
        run::{Cast, Outcome, shown},
        scenario, table,
    },
    stagehand,
};
use std::path::{Path, PathBuf};

#[test]
#[ignore = "needs a control plane: make cluster"]
fn the_world_answers_as_a_real_server_does() {
    stagehand::block_on(async {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        let scenarios = folder.join("scenarios");
        let files = scenario::read_all(&scenarios).unwrap_or_else(|why| panic!("{why}"));
        let known = known::read(&scenarios).unwrap_or_else(|why| panic!("{why}"));
        let cast = Cast { files: &files, known: &known, repository: &folder.join("../..") };
        let mut outcome = Outcome::default();
        let supervisor = Path::new(env!("CARGO_BIN_EXE_control-plane"));
        let played = on_private_servers(supervisor, &cast, &mut outcome).await;
        played.unwrap_or_else(|why| panic!("{why}"));
        println!("{}", outcome.table.markdown());
        let unknown: Vec<String> = outcome.unknown(&known).map(shown).collect();
        assert!(unknown.is_empty(), "{} differences are in no list:\n{}", unknown.len(), unknown.join("\n"));
        let stale: Vec<_> = outcome.stale(&known).collect();
        assert!(stale.is_empty(), "these differences are listed and did not happen: {stale:#?}");
        the_page_tells_it(&folder.join("../../docs/world.md"), &outcome.table.markdown());
    });
}

/// With `UPDATE_DOCS` set the table is written instead.
fn the_page_tells_it(page: &Path, text: &str) {
    let before = std::fs::read_to_string(page).unwrap_or_else(|why| panic!("{}: {why}", page.display()));
    let after = table::written_into(&before, text).unwrap_or_else(|| panic!("{} has no marks", page.display()));
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(page, &after).unwrap_or_else(|why| panic!("{}: {why}", page.display()));
    } else {
        assert!(before == after, "docs/world.md tells other numbers: run this test with UPDATE_DOCS=1");
    }
}
