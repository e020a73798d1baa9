//! Tells the program which version of the engine Cargo.lock holds.

fn main() {
    println!("cargo:rerun-if-changed=Cargo.lock");
    let lock = std::fs::read_to_string("Cargo.lock").expect("Cargo.lock is committed");
    let version = lock
        .split("[[package]]")
        .find(|package| package.contains("\nname = \"regorus\"\n"))
        .and_then(|package| package.split("version = \"").nth(1))
        .and_then(|rest| rest.split('"').next())
        .expect("Cargo.lock names regorus");
    println!("cargo:rustc-env=REGORUS_VERSION={version}");
}
