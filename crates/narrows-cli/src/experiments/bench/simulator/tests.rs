use super::*;

#[test]
fn the_virtual_time_is_what_the_rules_of_the_bus_come_to() {
    let chip = Chip::parse("bench", CHIP).unwrap();
    // Each way: 10 ns to write the payload, 6 to make the descriptor, 30 to write it and the head;
    // the other looks every 14 ns, and shares the bus meanwhile.
    let one = simulate(&chip, 1, 4).unwrap().picos;
    let ten = simulate(&chip, 10, 4).unwrap().picos;
    assert_eq!(one, 306_000);
    assert_eq!((ten - one) % 9, 0, "every further round trip takes the same");
}

#[test]
fn a_program_that_is_not_the_model_is_refused() {
    let refused = other(Path::new("/bin/true"), 1, 4).err().unwrap().to_string();
    assert!(refused.contains("bench/systemc/build"), "{refused}");
    assert!(other(Path::new("/nowhere"), 1, 4).is_err());
}
