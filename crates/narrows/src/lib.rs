//! Message passing between the cores of asymmetric chips.
#![no_std]
