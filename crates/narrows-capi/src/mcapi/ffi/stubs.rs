//! The C functions without a short way.

use std::ffi::c_void;
use std::ptr::null_mut;

use super::super::control::Kind::{Packet, Scalar};
use super::super::endpoint::Direction::{Receive, Send};
use super::super::home::Home;
use super::entry::{Args, Argument, Entry, Of, What};
use super::perform::{enter, perform};

macro_rules! stubs {
    ($($name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)? = $entry:expr;)*) => {
        $(
            #[inline(always)]
            pub(super) unsafe extern "C" fn $name<H: Home>($($argument: $type),*) $(-> $result)? {
                const ENTRY: &Entry = &$entry;
                // SAFETY: as was promised.
                let value = unsafe { call!(H, ENTRY, $($argument)*) };
                returned!(value $(, $result)?)
            }
        )*
    };
}

/// Enters with up to five arguments, or has those of the others in memory.
macro_rules! call {
    (@ $home:ident, $entry:ident, [$a:expr, $b:expr, $c:expr, $d:expr, $e:expr]) => {
        enter::<$home>($a, $b, $c, $d, $e, $entry)
    };
    (@ $home:ident, $entry:ident, [$a:expr, $b:expr, $c:expr, $d:expr, $e:expr, $($more:expr),+]) => {
        call!(@@ $home, $entry, [$a, $b, $c, $d, $e, $($more),+])
    };
    (@ $home:ident, $entry:ident, [$($word:expr),*]) => {
        call!(@ $home, $entry, [$($word,)* null_mut()])
    };
    (@@ $home:ident, $entry:ident, [$a:expr, $b:expr, $c:expr, $d:expr, $e:expr, $f:expr]) => {
        perform::<$home>(&Args([$a, $b, $c, $d, $e, $f, null_mut(), null_mut()]), $entry)
    };
    (@@ $home:ident, $entry:ident, [$a:expr, $b:expr, $c:expr, $d:expr, $e:expr, $f:expr, $g:expr]) => {
        perform::<$home>(&Args([$a, $b, $c, $d, $e, $f, $g, null_mut()]), $entry)
    };
    ($home:ident, $entry:ident, $($argument:ident)*) => {
        call!(@ $home, $entry, [$(Argument::word($argument)),*])
    };
}

macro_rules! returned {
    ($value:ident) => {{
        let _ = $value;
    }};
    ($value:ident, $result:ty) => {
        $value as $result
    };
}

stubs! {
    finalize(status: *mut u32) = Entry::new(What::Finalize, Of::Thread, 0);
    domain_id_get(status: *mut u32) -> u32 =
        Entry::new(What::DomainId, Of::Thread, 0).fails_with(-1);
    node_id_get(status: *mut u32) -> u32 =
        Entry::new(What::NodeId, Of::Thread, 0).fails_with(-1);
    node_get_attribute(
        domain_id: u32, node_id: u32, number: u32, value: *mut c_void, size: usize, status: *mut u32
    ) = Entry::new(What::NodeAttribute, Of::Thread, 5).needs(3, 3);
    endpoint_create(port_id: u32, status: *mut u32) -> u32 =
        Entry::new(What::Create, Of::Thread, 1).moves();
    endpoint_get_i(
        domain_id: u32, node_id: u32, port_id: u32, endpoint: *mut u32, request: *mut u32,
        status: *mut u32
    ) = Entry::new(What::Get, Of::Thread, 5).begins().needs(3, 3);
    endpoint_get(
        domain_id: u32, node_id: u32, port_id: u32, timeout: u32, status: *mut u32
    ) -> u32 = Entry::new(What::Get, Of::Thread, 4);
    endpoint_release(endpoint: u32, status: *mut u32) =
        Entry::new(What::Release, Of::Thread, 1).moves();
    endpoint_delete(endpoint: u32, status: *mut u32) =
        Entry::new(What::Delete, Of::Endpoint, 1).moves();
    endpoint_get_attribute(
        endpoint: u32, number: u32, value: *mut c_void, size: usize, status: *mut u32
    ) = Entry::new(What::GetAttribute, Of::Endpoint, 4).needs(2, 2).moves();
    endpoint_set_attribute(
        endpoint: u32, number: u32, value: *const c_void, size: usize, status: *mut u32
    ) = Entry::new(What::SetAttribute, Of::Endpoint, 4).needs(2, 2).moves();
    msg_send_i(
        send_endpoint: u32, receive_endpoint: u32, buffer: *const c_void, buffer_size: usize,
        priority: u32, request: *mut u32, status: *mut u32
    ) = Entry::new(What::SendMessage, Of::Endpoint, 6).begins();
    msg_recv_i(
        receive_endpoint: u32, buffer: *mut c_void, buffer_size: usize, request: *mut u32,
        status: *mut u32
    ) = Entry::new(What::ReceiveMessage, Of::Endpoint, 4).begins();
    msg_available(receive_endpoint: u32, status: *mut u32) -> u32 =
        Entry::new(What::MessagesAvailable, Of::Endpoint, 1);
    pktchan_connect_i(
        send_endpoint: u32, receive_endpoint: u32, request: *mut u32, status: *mut u32
    ) = Entry::new(What::Connect, Of::Ends, 3).begins().moves();
    pktchan_recv_open_i(
        receive_handle: *mut u32, receive_endpoint: u32, request: *mut u32, status: *mut u32
    ) = Entry::new(What::Open, Of::Endpoint, 3).endpoint(1).begins().needs(0, 0).on(Packet, Receive);
    pktchan_send_open_i(
        send_handle: *mut u32, send_endpoint: u32, request: *mut u32, status: *mut u32
    ) = Entry::new(What::Open, Of::Endpoint, 3).endpoint(1).begins().needs(0, 0);
    pktchan_send_i(
        send_handle: u32, buffer: *const c_void, size: usize, request: *mut u32, status: *mut u32
    ) = Entry::new(What::SendPacket, Of::Handle, 4).begins();
    pktchan_recv_i(
        receive_handle: u32, buffer: *mut *mut c_void, request: *mut u32, status: *mut u32
    ) = Entry::new(What::ReceivePacket, Of::Handle, 3).begins().needs(1, 1);
    pktchan_available(receive_handle: u32, status: *mut u32) -> u32 =
        Entry::new(What::Available, Of::Handle, 1);
    pktchan_release_test(buffer: *const c_void, status: *mut u32) -> u8 =
        Entry::new(What::ReleaseTest, Of::Process, 1).needs(0, 0);
    pktchan_recv_close_i(receive_handle: u32, request: *mut u32, status: *mut u32) =
        Entry::new(What::Close, Of::Handle, 2).begins().moves().on(Packet, Receive);
    pktchan_send_close_i(send_handle: u32, request: *mut u32, status: *mut u32) =
        Entry::new(What::Close, Of::Handle, 2).begins().moves();
    sclchan_connect_i(
        send_endpoint: u32, receive_endpoint: u32, request: *mut u32, status: *mut u32
    ) = Entry::new(What::Connect, Of::Ends, 3).begins().moves().on(Scalar, Send);
    sclchan_recv_open_i(
        receive_handle: *mut u32, receive_endpoint: u32, request: *mut u32, status: *mut u32
    ) = Entry::new(What::Open, Of::Endpoint, 3).endpoint(1).begins().needs(0, 0).on(Scalar, Receive);
    sclchan_send_open_i(
        send_handle: *mut u32, send_endpoint: u32, request: *mut u32, status: *mut u32
    ) = Entry::new(What::Open, Of::Endpoint, 3).endpoint(1).begins().needs(0, 0).on(Scalar, Send);
    sclchan_available(receive_handle: u32, status: *mut u32) -> u32 =
        Entry::new(What::Available, Of::Handle, 1).on(Scalar, Receive);
    sclchan_recv_close_i(receive_handle: u32, request: *mut u32, status: *mut u32) =
        Entry::new(What::Close, Of::Handle, 2).begins().moves().on(Scalar, Receive);
    sclchan_send_close_i(send_handle: u32, request: *mut u32, status: *mut u32) =
        Entry::new(What::Close, Of::Handle, 2).begins().moves().on(Scalar, Send);
    test(request: *mut u32, size: *mut usize, status: *mut u32) -> u8 =
        Entry::new(What::Test, Of::Request, 2).needs(0, 1).fails_with(1);
    wait(request: *mut u32, size: *mut usize, timeout: u32, status: *mut u32) -> u8 =
        Entry::new(What::Wait, Of::Request, 3).needs(0, 1);
    wait_any(
        number: usize, requests: *mut *mut u32, size: *mut usize, timeout: u32, status: *mut u32
    ) -> u32 = Entry::new(What::WaitAny, Of::Process, 4).needs(2, 2).fails_with(-1);
    cancel(request: *mut u32, status: *mut u32) =
        Entry::new(What::Cancel, Of::Request, 1).needs(0, 0);
}
