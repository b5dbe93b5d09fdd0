//! Statuses, by the numbers of `mcapi.h`.

macro_rules! statuses {
    ($($name:ident $number:literal)*) => {
        /// What a call says.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Status {
            $($name = $number,)*
        }

        impl Status {
            /// The status of a number, which has to be one that a call may say here.
            pub fn of(number: u32) -> Status {
                match number {
                    $($number => Status::$name,)*
                    other => panic!("a call said {other}"),
                }
            }
        }
    };
}

statuses! {
    Success 1
    Pending 2
    Timeout 3
    PortInvalid 11
    EndpInvalid 12
    EndpExists 13
    AttrIncompatible 17
    AttrSize 18
    AttrNum 19
    AttrValue 20
    AttrReadOnly 22
    MsgSize 23
    MsgTruncated 24
    ChanOpen 25
    ChanType 26
    ChanDirection 27
    ChanConnected 28
    ChanOpenPending 29
    ChanClosePending 30
    ChanNotOpen 31
    ChanInvalid 32
    PktSize 33
    Priority 35
    BufInvalid 36
    RequestInvalid 38
    RequestCancelled 40
    SclSize 43
}
