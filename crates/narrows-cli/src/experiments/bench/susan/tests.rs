use super::*;
use crate::rig::susan::Find;
use crate::rig::susan::scene::scene;

fn chip() -> Chip {
    platform::load_any("bmm-clusters").unwrap()
}

fn small(finds: Vec<Find>) -> Job {
    Job::new(scene(34, 29, 3), finds, 27)
}

fn refusal(chip: &Chip, job: &Job, cpus: u16) -> String {
    row((chip, None), Mechanism::Bmm, job, cpus).map(|_| ()).unwrap_err().to_string()
}

#[test]
fn each_mechanism_and_number_of_cpus_finds_what_one_picture_shows() {
    let chip = chip();
    for finds in [Find::ALL.to_vec(), vec![Find::Corners]] {
        let job = small(finds);
        let whole: Vec<Picture> =
            job.finds.iter().map(|find| find.whole(&job.tables, &job.image)).collect();
        for mechanism in Mechanism::ALL {
            for cpus in [1, 2, 5, 8] {
                let (_, planes) = row((&chip, None), mechanism, &job, cpus).unwrap();
                assert!(planes == whole, "{mechanism:?} {cpus}");
            }
        }
    }
}

/// Ports are scarce there: 15 pairs of them are in the first cluster.
#[test]
fn nine_to_sixteen_cpus_find_the_same_and_the_first_four_are_where_they_were() {
    let (eight, sixteen) = (chip(), platform::load_any("bmm-clusters-16").unwrap());
    let job = small(Find::ALL.to_vec());
    let whole: Vec<Picture> =
        job.finds.iter().map(|find| find.whole(&job.tables, &job.image)).collect();
    for mechanism in Mechanism::ALL {
        let (four, planes) = row((&eight, None), mechanism, &job, 4).unwrap();
        assert!(planes == whole, "{mechanism:?}");
        assert_eq!(row((&sixteen, None), mechanism, &job, 4).unwrap().0, four);
        for cpus in [9, 13, 16] {
            let (row, planes) = row((&sixteen, None), mechanism, &job, cpus).unwrap();
            assert!(planes == whole, "{mechanism:?} {cpus}");
            assert!(row.execution_cycles < four.execution_cycles, "{row:?} {four:?}");
        }
    }
    assert_eq!(refusal(&sixteen, &job, 17), "--cpus 17: bmm-clusters-16 has 16");
}

#[test]
fn fifos_in_hardware_and_fifos_that_rows_go_round_carry_the_same() {
    let job = small(Find::ALL.to_vec());
    let whole: Vec<Picture> =
        job.finds.iter().map(|find| find.whole(&job.tables, &job.image)).collect();
    let mut small = chip();
    if let Some(clusters) = &mut small.clusters {
        (clusters.manager.words, clusters.manager.credits) = (25, 25);
    }
    let mut hardware = chip();
    if let Some(clusters) = &mut hardware.clusters {
        clusters.manager.hardware = true;
    }
    for chip in [small, hardware] {
        for mechanism in Mechanism::ALL {
            assert!(row((&chip, None), mechanism, &job, 6).unwrap().1 == whole, "{mechanism:?}");
        }
    }
}

#[test]
fn more_cpus_are_sooner_done_and_have_more_to_send_and_the_buffer_manager_sends_it_sooner() {
    let (chip, job) = (chip(), small(Find::ALL.to_vec()));
    let of = |mechanism, cpus| row((&chip, None), mechanism, &job, cpus).unwrap().0;
    for mechanism in Mechanism::ALL {
        let [one, two, four] = [1, 2, 4].map(|cpus| of(mechanism, cpus));
        assert_eq!((one.communication_cycles, one.packets), (Some(0), 0));
        assert!(one.execution_cycles > two.execution_cycles, "{one:?} {two:?}");
        assert!(two.execution_cycles > four.execution_cycles, "{two:?} {four:?}");
        assert!(two.communication_cycles < four.communication_cycles, "{two:?} {four:?}");
        assert!(four.communication_cycles < four.execution_cycles, "{four:?}");
        // All rows but those of the first, three results each, and each strip with its border.
        let (rows, results) = (29 - 15, 3 * (29 - 15));
        assert_eq!(two.packets, rows + 5 + results);
    }
    let rows = [of(Mechanism::Dma, 4), of(Mechanism::Bmm, 4)];
    let less = less(&rows, |row| row.communication_us).unwrap();
    assert!((0.0..100.0).contains(&less), "{less}");
    assert_eq!(super::less(&rows[..1], |row| row.communication_us), None);
}

#[test]
fn an_image_that_does_not_fit_is_refused_in_a_sentence() {
    let chip = chip();
    let of = |width, height| Job::new(Picture::black(width, height), vec![Find::Edges], 27);
    let said = refusal(&chip, &of(20_000, 8), 2);
    assert!(said.contains("20000 pixels wide, and a FIFO has no room for a row"), "{said}");
    let said = refusal(&chip, &of(300, 300), 1);
    assert!(said.contains("cpu0 has 65536 bytes of its own, and its part"), "{said}");
    let mut tight = chip.clone();
    for memory in tight.memories.iter_mut().filter(|one| one.name.starts_with("shared")) {
        memory.size = 256 << 10;
    }
    let said = refusal(&tight, &of(512, 384), 8);
    assert!(said.contains("the shared memory of cluster0 has 262144 bytes, and image"), "{said}");
    let said = refusal(&chip, &of(20, 20), 9);
    assert_eq!(said, "--cpus 9: bmm-clusters has 8");
    let mut few = chip.clone();
    if let Some(clusters) = &mut few.clusters {
        clusters.manager.ports = 5;
    }
    let said = refusal(&few, &of(20, 20), 4);
    assert!(said.contains("cluster0 has 5 ports and needs 6: take fewer CPUs"), "{said}");
    assert!(row((&few, None), Mechanism::Bmm, &of(20, 20), 3).is_ok());
}

#[test]
fn cpus_without_a_row_have_nothing_to_do() {
    let job = Job::new(scene(12, 7, 1), vec![Find::Edges], 27);
    let (_, planes) = row((&chip(), None), Mechanism::Bmm, &job, 8).unwrap();
    assert_eq!(planes, [Find::Edges.whole(&job.tables, &job.image)]);
}

#[test]
fn something_else_than_before_is_a_defect() {
    let mut results = Results::new();
    let (row, planes) = row((&chip(), None), Mechanism::Dma, &small(vec![Find::Edges]), 1).unwrap();
    results.add(row.clone(), planes.clone()).unwrap();
    results.add(row.clone(), planes).unwrap();
    let said = results.add(row, Vec::new()).unwrap_err().to_string();
    assert!(said.contains("find something else than before"), "{said}");
}
