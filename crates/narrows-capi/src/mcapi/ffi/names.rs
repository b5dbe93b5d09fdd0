//! The functions by the standard's names, as this machine has them, and as a table, for places that
//! a program does not find by names.

use std::ffi::{c_char, c_void};

use super::super::here::Here;
#[cfg(feature = "elsewhere")]
use super::super::process::Processes;
use super::{Info, NodeAttributes};

macro_rules! functions {
    ($(
        $(#[$doc:meta])*
        $name:ident = $function:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?;
    )*) => {
        $(
            $(#[$doc])*
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name($($argument: $type),*) $(-> $result)? {
                // SAFETY: as was promised.
                unsafe { super::$function::<Here>($($argument),*) }
            }
        )*

        #[cfg(feature = "elsewhere")]
        /// All functions of one place, as `mcapi_simulated.h` declares them.
        #[repr(C)]
        #[derive(Clone, Copy, Debug)]
        #[allow(missing_docs)]
        pub struct Functions {
            $(pub $name: unsafe extern "C" fn($($type),*) $(-> $result)?,)*
        }

        #[cfg(feature = "elsewhere")]
        impl Functions {
            /// Those of a place.
            #[must_use]
            pub const fn of<H: Processes>() -> Functions {
                Functions { $($name: super::$function::<H>,)* }
            }

            /// Those of this machine.
            pub const HERE: Functions = Functions { $($name,)* };
        }

        #[cfg(test)]
        const NAMES: &[&str] = &[$(stringify!($name),)*];
    };
}

functions! {
    /// Makes this thread a node's.
    mcapi_initialize = initialize(
        domain_id: u32, node_id: u32, attributes: *const NodeAttributes, parameters: *const u32,
        info: *mut Info, status: *mut u32
    );
    /// Ends the thread's node.
    mcapi_finalize = finalize(status: *mut u32);
    /// The domain of the thread's node.
    mcapi_domain_id_get = domain_id_get(status: *mut u32) -> u32;
    /// The number of the thread's node.
    mcapi_node_id_get = node_id_get(status: *mut u32) -> u32;
    /// Gives attributes of a node their defaults.
    mcapi_node_init_attributes = node_init_attributes(
        attributes: *mut NodeAttributes, status: *mut u32
    );
    /// Changes an attribute of a node that is not initialised yet.
    mcapi_node_set_attribute = node_set_attribute(
        attributes: *mut NodeAttributes, number: u32, value: *const c_void, size: usize, status:
        *mut u32
    );
    /// An attribute of a node.
    mcapi_node_get_attribute = node_get_attribute(
        domain_id: u32, node_id: u32, number: u32, value: *mut c_void, size: usize, status: *mut
        u32
    );
    /// The name of a status.
    mcapi_display_status = display_status(
        status: u32, text: *mut c_char, size: usize
    ) -> *mut c_char;
    /// Makes an endpoint of the thread's node.
    mcapi_endpoint_create = endpoint_create(port_id: u32, status: *mut u32) -> u32;
    /// Looks for an endpoint, without waiting.
    mcapi_endpoint_get_i = endpoint_get_i(
        domain_id: u32, node_id: u32, port_id: u32, endpoint: *mut u32, request: *mut u32, status:
        *mut u32
    );
    /// Looks for an endpoint until it is there.
    mcapi_endpoint_get = endpoint_get(
        domain_id: u32, node_id: u32, port_id: u32, timeout: u32, status: *mut u32
    ) -> u32;
    /// Gives an endpoint back that was got.
    mcapi_endpoint_release = endpoint_release(endpoint: u32, status: *mut u32);
    /// Deletes an endpoint.
    mcapi_endpoint_delete = endpoint_delete(endpoint: u32, status: *mut u32);
    /// The value of an attribute.
    mcapi_endpoint_get_attribute = endpoint_get_attribute(
        endpoint: u32, number: u32, value: *mut c_void, size: usize, status: *mut u32
    );
    /// Sets an attribute.
    mcapi_endpoint_set_attribute = endpoint_set_attribute(
        endpoint: u32, number: u32, value: *const c_void, size: usize, status: *mut u32
    );
    /// Sends a message, waiting for room.
    mcapi_msg_send = msg_send(
        send_endpoint: u32, receive_endpoint: u32, buffer: *const c_void, buffer_size: usize,
        priority: u32, status: *mut u32
    );
    /// Sends a message, without waiting.
    mcapi_msg_send_i = msg_send_i(
        send_endpoint: u32, receive_endpoint: u32, buffer: *const c_void, buffer_size: usize,
        priority: u32, request: *mut u32, status: *mut u32
    );
    /// Receives a message, waiting for it.
    mcapi_msg_recv = msg_recv(
        receive_endpoint: u32, buffer: *mut c_void, buffer_size: usize, received_size: *mut usize,
        status: *mut u32
    );
    /// Receives a message, without waiting.
    mcapi_msg_recv_i = msg_recv_i(
        receive_endpoint: u32, buffer: *mut c_void, buffer_size: usize, request: *mut u32, status:
        *mut u32
    );
    /// How many messages an endpoint can receive without waiting.
    mcapi_msg_available = msg_available(receive_endpoint: u32, status: *mut u32) -> u32;
    /// Connects two endpoints by a packet channel.
    mcapi_pktchan_connect_i = pktchan_connect_i(
        send_endpoint: u32, receive_endpoint: u32, request: *mut u32, status: *mut u32
    );
    /// Opens the receiving side of a packet channel.
    mcapi_pktchan_recv_open_i = pktchan_recv_open_i(
        receive_handle: *mut u32, receive_endpoint: u32, request: *mut u32, status: *mut u32
    );
    /// Opens the sending side of a packet channel.
    mcapi_pktchan_send_open_i = pktchan_send_open_i(
        send_handle: *mut u32, send_endpoint: u32, request: *mut u32, status: *mut u32
    );
    /// Sends a packet, without waiting.
    mcapi_pktchan_send_i = pktchan_send_i(
        send_handle: u32, buffer: *const c_void, size: usize, request: *mut u32, status: *mut u32
    );
    /// Sends a packet, waiting for room.
    mcapi_pktchan_send = pktchan_send(
        send_handle: u32, buffer: *const c_void, size: usize, status: *mut u32
    );
    /// Receives a packet, without waiting.
    mcapi_pktchan_recv_i = pktchan_recv_i(
        receive_handle: u32, buffer: *mut *mut c_void, request: *mut u32, status: *mut u32
    );
    /// Receives a packet, waiting for it.
    mcapi_pktchan_recv = pktchan_recv(
        receive_handle: u32, buffer: *mut *mut c_void, received_size: *mut usize, status: *mut u32
    );
    /// How many packets can be received without waiting.
    mcapi_pktchan_available = pktchan_available(receive_handle: u32, status: *mut u32) -> u32;
    /// Gives a received packet back.
    mcapi_pktchan_release = pktchan_release(buffer: *const c_void, status: *mut u32);
    /// Whether a received packet was given back.
    mcapi_pktchan_release_test = pktchan_release_test(
        buffer: *const c_void, status: *mut u32
    ) -> u8;
    /// Closes the receiving side of a packet channel.
    mcapi_pktchan_recv_close_i = pktchan_recv_close_i(
        receive_handle: u32, request: *mut u32, status: *mut u32
    );
    /// Closes the sending side of a packet channel.
    mcapi_pktchan_send_close_i = pktchan_send_close_i(
        send_handle: u32, request: *mut u32, status: *mut u32
    );
    /// Connects two endpoints by a scalar channel.
    mcapi_sclchan_connect_i = sclchan_connect_i(
        send_endpoint: u32, receive_endpoint: u32, request: *mut u32, status: *mut u32
    );
    /// Opens the receiving side of a scalar channel.
    mcapi_sclchan_recv_open_i = sclchan_recv_open_i(
        receive_handle: *mut u32, receive_endpoint: u32, request: *mut u32, status: *mut u32
    );
    /// Opens the sending side of a scalar channel.
    mcapi_sclchan_send_open_i = sclchan_send_open_i(
        send_handle: *mut u32, send_endpoint: u32, request: *mut u32, status: *mut u32
    );
    /// How many scalars can be received without waiting.
    mcapi_sclchan_available = sclchan_available(receive_handle: u32, status: *mut u32) -> u32;
    /// Closes the receiving side of a scalar channel.
    mcapi_sclchan_recv_close_i = sclchan_recv_close_i(
        receive_handle: u32, request: *mut u32, status: *mut u32
    );
    /// Closes the sending side of a scalar channel.
    mcapi_sclchan_send_close_i = sclchan_send_close_i(
        send_handle: u32, request: *mut u32, status: *mut u32
    );
    /// Whether a request is finished.
    mcapi_test = test(request: *mut u32, size: *mut usize, status: *mut u32) -> u8;
    /// Waits until a request is finished.
    mcapi_wait = wait(request: *mut u32, size: *mut usize, timeout: u32, status: *mut u32) -> u8;
    /// Waits until one of several requests is finished: its index.
    mcapi_wait_any = wait_any(
        number: usize, requests: *mut *mut u32, size: *mut usize, timeout: u32, status: *mut u32
    ) -> u32;
    /// Takes a request back that is not finished.
    mcapi_cancel = cancel(request: *mut u32, status: *mut u32);
    /// Sends a scalar of 64 bits, waiting for room.
    mcapi_sclchan_send_uint64 = sclchan_send_uint64(
        send_handle: u32, dataword: u64, status: *mut u32
    );
    /// Receives a scalar of 64 bits, waiting for it.
    mcapi_sclchan_recv_uint64 = sclchan_recv_uint64(receive_handle: u32, status: *mut u32) -> u64;
    /// Sends a scalar of 32 bits, waiting for room.
    mcapi_sclchan_send_uint32 = sclchan_send_uint32(
        send_handle: u32, dataword: u32, status: *mut u32
    );
    /// Receives a scalar of 32 bits, waiting for it.
    mcapi_sclchan_recv_uint32 = sclchan_recv_uint32(receive_handle: u32, status: *mut u32) -> u32;
    /// Sends a scalar of 16 bits, waiting for room.
    mcapi_sclchan_send_uint16 = sclchan_send_uint16(
        send_handle: u32, dataword: u16, status: *mut u32
    );
    /// Receives a scalar of 16 bits, waiting for it.
    mcapi_sclchan_recv_uint16 = sclchan_recv_uint16(receive_handle: u32, status: *mut u32) -> u16;
    /// Sends a scalar of 8 bits, waiting for room.
    mcapi_sclchan_send_uint8 = sclchan_send_uint8(send_handle: u32, dataword: u8, status: *mut u32);
    /// Receives a scalar of 8 bits, waiting for it.
    mcapi_sclchan_recv_uint8 = sclchan_recv_uint8(receive_handle: u32, status: *mut u32) -> u8;
}

#[cfg(test)]
mod tests {
    use super::NAMES;

    #[test]
    fn every_function_has_its_place_in_the_header_for_the_simulator() {
        let header = include_str!("../../../include/mcapi_simulated.h");
        let member = |line: &str| {
            let (name, member) = line.trim().strip_prefix("__typeof__(")?.split_once(") *")?;
            assert_eq!(name.strip_prefix("mcapi_"), member.strip_suffix(';'));
            Some(name.to_owned())
        };
        let members: Vec<String> = header.lines().filter_map(member).collect();
        assert_eq!(members, NAMES);
        for name in NAMES {
            let short = name.strip_prefix("mcapi_").expect("all begin with it");
            let line = format!("#define {name} (narrows_simulated->{short})\n");
            assert!(header.contains(&line), "{name}");
        }
    }
}
