use narrows::endpoint::Address;
use std::time::Duration;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let soon = Some(Duration::from_secs(5));

    let mut node = narrows_host::open("gpp")?;
    node.open(1)?;
    let link = node.hunt(&"dsp".parse()?, soon)?;
    node.send(1, Address { link, port: 1 }, b"hello", soon)?;

    let mut buffer = [0; 64];
    let answer = node.receive_into(1, &mut buffer, soon)?;
    println!("{}", std::str::from_utf8(answer.bytes(&buffer))?);
    Ok(())
}
