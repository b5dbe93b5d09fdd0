use std::time::Duration;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let soon = Some(Duration::from_secs(5));

    let mut node = narrows_host::open("dsp")?;
    node.open(1)?;

    let mut buffer = [0; 64];
    let hello = node.receive_into(1, &mut buffer, soon)?;
    let (peer, _) = node.link(hello.from.link).peer()?;
    node.send(1, hello.from, &format!("hello, {peer}"), soon)?;
    Ok(())
}
