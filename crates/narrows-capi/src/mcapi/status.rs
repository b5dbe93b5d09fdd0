//! What calls end with.

/// Makes the enumeration and the names from one list.
macro_rules! statuses {
    ($($name:ident = $value:literal, $text:literal;)*) => {
        /// What a call or a request ended with; the numbers are those of `mcapi.h`.
        #[repr(u32)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(missing_docs)]
        pub enum Status { $($name = $value,)* }

        impl Status {
            /// The status of a number.
            #[inline(never)]
            pub(super) fn of(number: u32) -> Option<Status> {
                Status::named(number).map(|(status, _)| status)
            }

            /// The status of a number, and its name in C.
            #[must_use]
            pub fn named(number: u32) -> Option<(Status, &'static str)> {
                const ALL: &[(Status, &str)] = &[$((Status::$name, $text)),*];
                let (status, text) = *ALL.get((number as usize).wrapping_sub(1))?;
                (status as u32 == number).then_some((status, text))
            }
        }
    };
}

statuses! {
    Success = 1, "MCAPI_SUCCESS";
    Pending = 2, "MCAPI_PENDING";
    Timeout = 3, "MCAPI_TIMEOUT";
    Parameter = 4, "MCAPI_ERR_PARAMETER";
    DomainInvalid = 5, "MCAPI_ERR_DOMAIN_INVALID";
    NodeInvalid = 6, "MCAPI_ERR_NODE_INVALID";
    NodeInitFailed = 7, "MCAPI_ERR_NODE_INITFAILED";
    NodeInitialized = 8, "MCAPI_ERR_NODE_INITIALIZED";
    NodeNotInit = 9, "MCAPI_ERR_NODE_NOTINIT";
    NodeFinalFailed = 10, "MCAPI_ERR_NODE_FINALFAILED";
    PortInvalid = 11, "MCAPI_ERR_PORT_INVALID";
    EndpInvalid = 12, "MCAPI_ERR_ENDP_INVALID";
    EndpExists = 13, "MCAPI_ERR_ENDP_EXISTS";
    EndpGetLimit = 14, "MCAPI_ERR_ENDP_GET_LIMIT";
    EndpNotOwner = 15, "MCAPI_ERR_ENDP_NOTOWNER";
    EndpRemote = 16, "MCAPI_ERR_ENDP_REMOTE";
    AttrIncompatible = 17, "MCAPI_ERR_ATTR_INCOMPATIBLE";
    AttrSize = 18, "MCAPI_ERR_ATTR_SIZE";
    AttrNum = 19, "MCAPI_ERR_ATTR_NUM";
    AttrValue = 20, "MCAPI_ERR_ATTR_VALUE";
    AttrNotSupported = 21, "MCAPI_ERR_ATTR_NOTSUPPORTED";
    AttrReadOnly = 22, "MCAPI_ERR_ATTR_READONLY";
    MsgSize = 23, "MCAPI_ERR_MSG_SIZE";
    MsgTruncated = 24, "MCAPI_ERR_MSG_TRUNCATED";
    ChanOpen = 25, "MCAPI_ERR_CHAN_OPEN";
    ChanType = 26, "MCAPI_ERR_CHAN_TYPE";
    ChanDirection = 27, "MCAPI_ERR_CHAN_DIRECTION";
    ChanConnected = 28, "MCAPI_ERR_CHAN_CONNECTED";
    ChanOpenPending = 29, "MCAPI_ERR_CHAN_OPENPENDING";
    ChanClosePending = 30, "MCAPI_ERR_CHAN_CLOSEPENDING";
    ChanNotOpen = 31, "MCAPI_ERR_CHAN_NOTOPEN";
    ChanInvalid = 32, "MCAPI_ERR_CHAN_INVALID";
    PktSize = 33, "MCAPI_ERR_PKT_SIZE";
    Transmission = 34, "MCAPI_ERR_TRANSMISSION";
    Priority = 35, "MCAPI_ERR_PRIORITY";
    BufInvalid = 36, "MCAPI_ERR_BUF_INVALID";
    MemLimit = 37, "MCAPI_ERR_MEM_LIMIT";
    RequestInvalid = 38, "MCAPI_ERR_REQUEST_INVALID";
    RequestLimit = 39, "MCAPI_ERR_REQUEST_LIMIT";
    RequestCancelled = 40, "MCAPI_ERR_REQUEST_CANCELLED";
    WaitPending = 41, "MCAPI_ERR_WAIT_PENDING";
    General = 42, "MCAPI_ERR_GENERAL";
    SclSize = 43, "MCAPI_ERR_SCL_SIZE";
    EndpDeleted = 44, "MCAPI_ERR_ENDP_DELETED";
    EndpLimit = 45, "MCAPI_ERR_ENDP_LIMIT";
    EndpNoPorts = 46, "MCAPI_ERR_ENDP_NOPORTS";
}

/// What an operation ends with, if not well.
pub(super) type Outcome<T> = Result<T, Status>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_has_the_status_that_has_it() {
        for number in 1..=46 {
            assert_eq!(Status::named(number).map(|(status, _)| status as u32), Some(number));
        }
        assert_eq!(Status::named(33), Some((Status::PktSize, "MCAPI_ERR_PKT_SIZE")));
        assert_eq!([0, 47, u32::MAX].map(Status::named), [None; 3]);
    }
}
