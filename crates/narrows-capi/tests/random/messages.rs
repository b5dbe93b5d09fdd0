//! Messages: sent, received, counted.

use super::calls;
use super::case::Case;
use super::ground::{LONG, MANY};
use super::model::{Ended, Message, State, What, received};
use super::status::Status;

impl Case<'_> {
    pub fn message(&mut self) {
        match self.random.below(8) {
            0..4 => self.send(),
            4..6 => self.receive(),
            6 => self.begin_receiving(),
            _ => self.count(),
        }
    }

    /// Bytes of any length, no more than there is room for.
    pub fn bytes(&mut self) -> Option<Vec<u8>> {
        let (count, long) = self.model.load();
        let lens: &[usize] = match long < LONG {
            true => &[0, 1, 40, 48, 49, 100, 101, 1000, 8000, 65536],
            false => &[0, 1, 40, 48, 49, 100, 101, 1000],
        };
        let (len, seed) = (self.random.pick(lens), self.random.next());
        let bytes = (0..len as u64).map(|i| (seed.wrapping_add(i * 13) >> (i % 7)) as u8);
        (count < MANY).then(|| bytes.collect())
    }

    fn send(&mut self) {
        let (from, to) = (self.any_id(), self.any_id());
        let Some(bytes) = self.bytes() else { return };
        let priority = self.random.pick(&[0, 1, 4, 4, 7, 8]);
        let expected = match self.model.endpoints.get(&from) {
            None => Status::EndpInvalid,
            // One that was not got is looked for.
            Some(_) if !self.model.endpoints.contains_key(&to) => Status::EndpInvalid,
            Some(own) if bytes.len() > own.payload as usize => Status::MsgSize,
            Some(_) if priority > 7 => Status::Priority,
            Some(_) => Status::Success,
        };
        let status = if self.random.one_in(2) {
            calls::send_message(from, to, &bytes, priority)
        } else {
            let (said, begun) = calls::begin_sending(from, to, bytes.clone(), priority);
            let (status, size, _) = self.same_end(said, begun);
            assert_eq!(size, if status == Status::Success { bytes.len() } else { usize::MAX });
            status
        };
        let stale = self.model.may_be_stale(from, to);
        let allowed = [expected, if stale { Status::EndpInvalid } else { expected }];
        self.came_to("send", &allowed, status);
        if status == Status::Success {
            if let Some(endpoint) = self.model.endpoints.get_mut(&to) {
                endpoint.put(Message { bytes, priority });
            }
            self.arrive(to);
            self.model.deliver(to);
        }
    }

    /// Waits until as much is there as the model says, or is given to whom it is for.
    fn arrive(&self, id: u32) {
        let Some(endpoint) = self.model.endpoints.get(&id) else { return };
        if endpoint.receiving.is_empty() {
            let all = endpoint.queue.len() as u32;
            self.until(|| calls::messages(id) == (Status::Success, all));
        }
    }

    fn room(&mut self) -> usize {
        self.random.pick(&[65536, 65536, 1000, 48, 0])
    }

    fn receive(&mut self) {
        let (id, room) = (self.any_id(), self.room());
        let taken = match self.model.endpoints.get_mut(&id) {
            None => Ended::with(Status::EndpInvalid),
            Some(endpoint) => match endpoint.queue.pop_front() {
                None => Ended::with(Status::Timeout),
                Some(message) => received(message.bytes, room),
            },
        };
        let mut buffer = vec![0xee; room];
        let (status, size) = calls::receive_message(id, &mut buffer);
        self.came_to("receive", &taken.allowed, status);
        match taken.content {
            None => assert_eq!(size, usize::MAX),
            Some(content) => {
                assert_eq!(size, taken.size);
                assert!(buffer.starts_with(&content));
                assert!(buffer[size..].iter().all(|byte| *byte == 0xee));
            }
        }
    }

    fn begin_receiving(&mut self) {
        let (id, room) = (self.any_id(), self.room());
        let (status, begun) = calls::begin_receiving(id, room);
        let state = match self.model.endpoints.get_mut(&id) {
            None => State::Ended(Ended::with(Status::EndpInvalid)),
            Some(endpoint) => match endpoint.queue.pop_front() {
                None => State::Pending,
                Some(message) => State::Ended(received(message.bytes, room)),
            },
        };
        let allowed = match &state {
            State::Ended(ended) => ended.allowed.clone(),
            _ => vec![Status::Pending],
        };
        self.came_to("begin_receiving", &allowed, status);
        let pending = matches!(state, State::Pending);
        let request = self.model.add(begun, What::Message(id), state);
        if let Some(endpoint) = self.model.endpoints.get_mut(&id).filter(|_| pending) {
            endpoint.receiving.push_back(request);
        }
    }

    fn count(&mut self) {
        let id = self.any_id();
        let (status, count) = calls::messages(id);
        let expected = self.model.endpoints.get(&id).map(|endpoint| endpoint.queue.len() as u32);
        let there = if expected.is_some() { Status::Success } else { Status::EndpInvalid };
        self.came_to("messages", &[there], status);
        assert_eq!(count, expected.unwrap_or(0));
    }
}
