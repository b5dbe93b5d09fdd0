//! The calls of a side.

use super::side::{LONGEST, Side, content, name, strategy};
use narrows::endpoint::{CallError, Completed, FlowError, FlowId, SendError};

impl Side<'_> {
    /// The flow of calls to a peer, if there is one now.
    pub fn flow(&mut self, at: usize) -> Option<FlowId> {
        if !self.world.calls(self.own, self.peers[at].side) {
            return None;
        }
        if self.peers[at].flow.is_none() {
            let (link, within) = (self.peers[at].link, self.within());
            let opened = self.node.open_flow(link, &name("echo"), strategy(self.dice), 100, within);
            match opened {
                Ok(flow) => self.peers[at].flow = Some(flow),
                Err(FlowError::Gone(_)) => {}
                Err(FlowError::Deadline) => self.passed(),
                // One that was given up takes a place until the peer has answered.
                Err(FlowError::Full) => {}
                Err(FlowError::NotFound | FlowError::Infeasible) if self.strange(at) => {}
                Err(other) => panic!("flow: {other:?}"),
            }
        }
        self.peers[at].flow
    }

    pub fn call(&mut self, at: usize) {
        let Some(flow) = self.flow(at) else { return };
        let (request, mut response) = (content(self.peers[at].call), [0; LONGEST]);
        let request = &request[..request.len().min(100)];
        let within = self.within();
        match self.node.flow(flow).call(request, &mut response, within) {
            Ok(len) => {
                if !self.strange(at) {
                    assert_eq!(&response[..len], request, "an answer");
                }
                self.world.answered.set(self.world.answered.get() + 1);
            }
            Err(CallError::Outstanding) => self.complete(at),
            other => self.failed(other.map(|_| ()), at),
        }
        self.peers[at].call = self.peers[at].call.wrapping_add(1);
    }

    fn failed(&self, result: Result<(), CallError>, at: usize) {
        match result {
            Ok(()) | Err(CallError::Gone(_) | CallError::Start(SendError::Gone(_))) => {}
            Err(CallError::Deadline | CallError::Start(SendError::Deadline)) => self.passed(),
            Err(CallError::Failed(_) | CallError::Short { .. }) if self.strange(at) => {}
            Err(other) => panic!("call: {other:?}"),
        }
    }

    /// Several calls at once.
    pub fn start(&mut self, at: usize) {
        let Some(flow) = self.flow(at) else { return };
        for _ in 0..1 + self.dice.roll(3) {
            let bytes = content(self.dice.roll(100) as u16);
            let bytes = &bytes[..bytes.len().min(100)];
            let reserved =
                self.dice.one_in(2).then(|| self.node.flow(flow).reserve(bytes.len()).ok());
            let started = match reserved.flatten() {
                Some(mut reserved) => {
                    let written = self.node.write(&mut reserved, 0, bytes);
                    assert!(written.is_ok(), "a block of its own");
                    let started = self.node.flow(flow).start(&mut reserved);
                    self.node.cancel(reserved);
                    started
                }
                None => self.node.flow(flow).start(bytes),
            };
            match started {
                Ok(number) => self.peers[at].started.push((number, bytes.to_vec())),
                Err(SendError::Gone(_)) => {}
                Err(SendError::RingFull | SendError::PoolEmpty | SendError::Switching) => break,
                Err(other) => panic!("start: {other:?}"),
            }
        }
        let mut response = [0; LONGEST];
        let within = self.within();
        let done = self.node.flow(flow).finish(&mut response, within);
        match done {
            Ok(done) => self.answered(at, done, &response),
            Err(CallError::Nothing) => {}
            Err(other) => self.failed(Err(other), at),
        }
    }

    /// A call that was started has its answer.
    fn answered(&mut self, at: usize, done: Completed, response: &[u8]) {
        if !self.strange(at) {
            let started = &mut self.peers[at].started;
            let call = started.iter().position(|(number, _)| *number == done.number);
            let (_, request) = started.remove(call.expect("a call that was started"));
            assert_eq!((&response[..done.len], done.failure), (&request[..], None), "its answer");
        }
        self.world.answered.set(self.world.answered.get() + 1);
    }

    pub fn switch(&mut self, at: usize) {
        let Some(flow) = self.flow(at) else { return };
        let (to, within) = (strategy(self.dice), self.within());
        match self.node.flow(flow).switch(to, within) {
            Ok(()) | Err(FlowError::Gone(_) | FlowError::Switching) => {}
            Err(FlowError::Deadline) => self.passed(),
            Err(FlowError::Infeasible) if self.strange(at) => {}
            Err(other) => panic!("switch: {other:?}"),
        }
    }

    /// Takes the answers that are there.
    pub fn complete(&mut self, at: usize) {
        let Some(flow) = self.peers[at].flow else { return };
        let _ = self.node.flow(flow).flush();
        let mut answers = Vec::new();
        let done = self.node.flow(flow).complete(|completed, source| {
            let mut bytes = vec![0; completed.len.min(LONGEST)];
            assert!(source.read(0, &mut bytes).is_ok(), "an answer that is there");
            answers.push((completed, bytes));
        });
        assert!(done.is_err() || done == Ok(answers.len()), "{done:?}: each is handed over");
        for (completed, bytes) in answers {
            self.answered(at, completed, &bytes);
        }
        if let Err(other) = done {
            self.failed(Err(other), at);
        }
    }
}
