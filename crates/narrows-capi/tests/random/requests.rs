//! Requests: asked after, waited for, cancelled.

use super::calls;
use super::case::Case;
use super::model::{Ended, Request, State, What};
use super::status::Status;

impl Case<'_> {
    pub fn request(&mut self) {
        let Some(at) = self.any_request() else { return };
        match self.random.below(6) {
            0..2 => self.ask("test", at),
            2..4 => self.ask("wait", at),
            4 => self.wait_any(),
            _ => self.cancel(at),
        }
    }

    fn any_request(&mut self) -> Option<usize> {
        let all: Vec<_> = self.model.requests.keys().copied().collect();
        (!all.is_empty()).then(|| self.random.pick(&all))
    }

    fn ask(&mut self, operation: &'static str, at: usize) {
        let Some(mut request) = self.model.requests.remove(&at) else { return };
        let word = &mut request.begun.request;
        let (status, ended, size) = match operation {
            "test" => calls::test(word),
            _ => calls::wait(word, 0),
        };
        let pending = if operation == "test" { Status::Pending } else { Status::Timeout };
        let allowed = match &request.state {
            State::Pending => vec![pending],
            State::Ended(ended) => ended.allowed.clone(),
            State::Cancelled => vec![Status::RequestCancelled],
        };
        self.came_to(operation, &allowed, status);
        let done = status != pending;
        assert_eq!(ended, done && (operation == "test" || status == Status::Success));
        if !done {
            assert_eq!(size, usize::MAX);
            self.model.requests.insert(at, request);
            return;
        }
        self.check(request, status, size);
    }

    /// What a request that has just been reported left behind, once and for all.
    fn check(&mut self, mut request: Request, status: Status, size: usize) {
        match &request.state {
            State::Ended(ended) if matches!(status, Status::Success | Status::MsgTruncated) => {
                assert_eq!(size, ended.size);
                match (&ended.content, request.what) {
                    (Some(content), What::Message(_)) => {
                        let (got, rest) = request.begun.buffer.split_at(size);
                        assert!(got == content, "a message comes as it was sent");
                        assert!(rest.iter().all(|byte| *byte == 0xee));
                    }
                    (None, What::Get(_, id)) => assert_eq!(*request.begun.word, id),
                    _ => {}
                }
            }
            _ => assert_eq!(size, usize::MAX, "no size of what failed"),
        }
        let again = calls::test(&mut request.begun.request);
        assert_eq!(again, (Status::RequestInvalid, true, usize::MAX));
    }

    fn wait_any(&mut self) {
        let mut chosen: Vec<usize> = Vec::new();
        for _ in 0..1 + self.random.below(4) {
            let at = self.any_request();
            chosen.extend(at.filter(|at| !chosen.contains(at)));
        }
        let mut requests: Vec<_> =
            chosen.iter().filter_map(|at| Some((*at, self.model.requests.remove(at)?))).collect();
        let mut words: Vec<_> =
            requests.iter_mut().map(|(_, request)| &mut *request.begun.request).collect();
        let (status, which, size) = calls::wait_any(&mut words, 0);
        let is = |of: fn(&State) -> bool| requests.iter().any(|(_, request)| of(&request.state));
        let reported = if is(|state| matches!(state, State::Ended(_))) {
            let (_, request) = &requests[which as usize];
            let State::Ended(Ended { allowed, .. }) = &request.state else {
                panic!("wait_any gave one that has not ended, with {status:?}");
            };
            self.came_to("wait_any", &allowed.clone(), status);
            let (_, request) = requests.remove(which as usize);
            self.check(request, status, size);
            false
        } else {
            assert_eq!((which, size), (u32::MAX, usize::MAX));
            let pending = is(|state| matches!(state, State::Pending));
            let expected = if pending { Status::Timeout } else { Status::RequestCancelled };
            self.came_to("wait_any", &[expected], status);
            !pending
        };
        // All were cancelled, and that was said.
        if !reported {
            self.model.requests.extend(requests);
        }
    }

    fn cancel(&mut self, at: usize) {
        let Some(request) = self.model.requests.get_mut(&at) else { return };
        let status = calls::cancel(&mut request.begun.request);
        let (what, pending) = (request.what, matches!(request.state, State::Pending));
        if pending {
            request.state = State::Cancelled;
        }
        let expected = if pending { Status::Success } else { Status::RequestInvalid };
        self.came_to("cancel", &[expected], status);
        match what {
            What::Message(id) => {
                if let Some(endpoint) = self.model.endpoints.get_mut(&id) {
                    endpoint.receiving.retain(|request| *request != at);
                }
            }
            What::Packet(channel) => {
                self.model.channels[channel].receiving.retain(|request| *request != at);
            }
            What::Open(id) if pending => {
                if let Some(endpoint) = self.model.endpoints.get_mut(&id) {
                    endpoint.opening = None;
                }
            }
            _ => {}
        }
    }
}
