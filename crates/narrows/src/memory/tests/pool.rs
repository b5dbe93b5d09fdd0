use std::collections::VecDeque;
use std::vec;
use std::vec::Vec;

use proptest::prelude::*;

use super::class;
use crate::memory::{Block, Corrupt, Layout, Pool, PoolError};
use crate::strategy::Placement;

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Free,
    Held,
    Lent,
}

/// The same books, kept the slow and obvious way.
struct Model {
    layout: Layout,
    free: Vec<VecDeque<u32>>,
    states: Vec<Vec<State>>,
}

impl Model {
    fn new(layout: &Layout) -> Model {
        let counts = || layout.classes().iter().map(|c| c.count);
        Model {
            layout: *layout,
            free: counts().map(|count| (0..count).collect()).collect(),
            states: counts().map(|count| vec![State::Free; count as usize]).collect(),
        }
    }
    fn take(&mut self, placement: Placement, len: u32) -> Result<Block, PoolError> {
        let limit = self.layout.longest(placement);
        for (number, c) in self.layout.classes().iter().enumerate() {
            if c.placement == placement
                && c.size >= len
                && let Some(index) = self.free[number].pop_front()
            {
                assert_eq!(self.states[number][index as usize], State::Free);
                self.states[number][index as usize] = State::Held;
                return Ok(Block::new(number, index));
            }
        }
        Err(if len > limit { PoolError::TooLong { limit } } else { PoolError::Empty })
    }
    fn state(&mut self, block: Block) -> Option<&mut State> {
        self.states.get_mut(block.class())?.get_mut(block.index() as usize)
    }
    fn change(&mut self, block: Block, from: State, to: State) -> bool {
        let Some(state) = self.state(block).filter(|state| **state == from) else { return false };
        *state = to;
        if to == State::Free {
            match self.layout.classes()[block.class()].placement {
                Placement::Internal => self.free[block.class()].push_front(block.index()),
                _ => self.free[block.class()].push_back(block.index()),
            }
        }
        true
    }
    fn count(&self, state: State) -> u32 {
        self.states.iter().flatten().filter(|s| **s == state).count() as u32
    }
    fn blocks(&self) -> Vec<Block> {
        let classes = self.states.iter().enumerate();
        classes.flat_map(|(n, s)| (0..s.len() as u32).map(move |i| Block::new(n, i))).collect()
    }
}

#[derive(Clone, Debug)]
enum Step {
    Take(Placement, u32),
    Lend(Block),
    PutBack(Block),
    Reclaim(Block),
    ReclaimAll,
}

fn steps() -> impl Strategy<Value = Step> {
    let near = (0..5usize, 0..6u32).prop_map(|(class, index)| Block::new(class, index));
    let block = || prop_oneof![9 => near.clone(), 1 => any::<u16>().prop_map(Block)];
    let placement = prop_oneof![
        Just(Placement::Internal),
        Just(Placement::External),
        Just(Placement::Region(0)),
    ];
    prop_oneof![
        6 => (placement, 0..70u32).prop_map(|(p, n)| Step::Take(p, n)),
        6 => block().prop_map(Step::Lend),
        3 => block().prop_map(Step::PutBack),
        3 => block().prop_map(Step::Reclaim),
        1 => Just(Step::ReclaimAll),
    ]
}

fn layout() -> Layout {
    let classes = [
        class(Placement::Internal, 16, 3),
        class(Placement::External, 8, 5),
        class(Placement::Internal, 64, 2),
        class(Placement::External, 32, 1),
    ];
    Layout::new(64, 2, &classes).expect("possible")
}

proptest! {
    #[test]
    fn the_books_agree_with_a_simple_model(steps in prop::collection::vec(steps(), 0..200)) {
        let mut pool = Pool::new(layout(), vec![0; layout().books()]);
        let mut model = Model::new(&layout());
        for step in steps {
            match step {
                Step::Take(placement, len) => {
                    prop_assert_eq!(pool.take(placement, len), model.take(placement, len));
                }
                Step::Lend(block) => {
                    pool.lend(block);
                    model.change(block, State::Held, State::Lent);
                }
                Step::PutBack(block) => {
                    pool.put_back(block);
                    model.change(block, State::Held, State::Free);
                }
                Step::Reclaim(block) => {
                    let lent = model.change(block, State::Lent, State::Free);
                    prop_assert_eq!(pool.reclaim(block), lent.then_some(()).ok_or(Corrupt::Return));
                }
                Step::ReclaimAll => {
                    pool.reclaim_all();
                    for block in model.blocks() {
                        model.change(block, State::Lent, State::Free);
                    }
                }
            }
            prop_assert_eq!(pool.held(), model.count(State::Held));
            prop_assert_eq!(pool.lent(), model.count(State::Lent));
        }
        for placement in [Placement::Internal, Placement::External] {
            while let Ok(block) = model.take(placement, 0) {
                prop_assert_eq!(pool.take(placement, 0), Ok(block));
            }
            prop_assert_eq!(pool.take(placement, 0), Err(PoolError::Empty));
        }
    }
}

#[test]
fn internal_blocks_come_back_last_in_first_out_and_others_in_turn() {
    for (placement, size, next) in [(Placement::Internal, 16, 1), (Placement::External, 8, 2)] {
        let mut pool = Pool::new(layout(), vec![0; layout().books()]);
        let first = pool.take(placement, size).expect("free");
        let second = pool.take(placement, size).expect("free");
        assert_eq!((first.index(), second.index()), (0, 1));
        pool.put_back(first);
        pool.put_back(second);
        assert_eq!(pool.take(placement, size).map(Block::index), Ok(next));
    }
}

#[test]
fn it_is_known_where_the_next_blocks_come() {
    for placement in [Placement::Internal, Placement::External] {
        let mut pool = Pool::new(layout(), vec![0; layout().books()]);
        let taken = [(); 3].map(|()| pool.take_to_lend(placement, 8).expect("free").0);
        for block in [taken[1], taken[0]] {
            pool.reclaim(block).expect("lent");
        }
        let coming: Vec<u32> = pool.coming().collect();
        let next = |_| pool.take_quickly(placement, 8).map(|(_, offset)| offset);
        let followed: Vec<u32> = (0..9).map_while(next).collect();
        assert_eq!(coming, followed);
        assert!(coming.len() >= 2 && pool.coming().next().is_none());
    }
}

#[test]
fn a_block_of_the_first_class_is_taken_only_where_it_will_do() {
    let first = layout().classes()[0];
    let other = match first.placement {
        Placement::Internal => Placement::External,
        _ => Placement::Internal,
    };
    let mut pool = Pool::new(layout(), vec![0; layout().books()]);
    assert_eq!(pool.take_first(other, first.size), None, "it is in the other memory");
    assert_eq!(pool.take_first(first.placement, first.size + 1), None, "it is too short");
    assert_eq!(pool.lent(), 0);
    let taken = (0..first.count).map_while(|_| pool.take_first(first.placement, first.size));
    assert_eq!(taken.count(), first.count as usize);
    assert_eq!(pool.take_first(first.placement, 1), None, "all are in use");
    assert_eq!(pool.lent(), first.count);
}
