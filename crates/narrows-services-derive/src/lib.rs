//! `#[derive(Typed)]` of narrows-services.

use proc_macro2::TokenStream;
use quote::quote;
use syn::punctuated::Punctuated;
use syn::{Data, DeriveInput, Error, Fields, Meta, Token, parse_macro_input};

/// Has a struct say how it lies in memory: its name, and each field's name, place and type.
#[proc_macro_derive(Typed)]
pub fn typed(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    describe(&input).unwrap_or_else(Error::into_compile_error).into()
}

/// Whether a struct says that its fields lie in their order.
fn is_laid_out(input: &DeriveInput) -> Result<bool, Error> {
    let mut laid_out = false;
    for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("repr")) {
        let words = Punctuated::<Meta, Token![,]>::parse_terminated;
        for word in attribute.parse_args_with(words)? {
            laid_out |= word.path().is_ident("C") || word.path().is_ident("transparent");
        }
    }
    Ok(laid_out)
}

fn describe(input: &DeriveInput) -> Result<TokenStream, Error> {
    let refused = |text| Err(Error::new_spanned(&input.ident, text));
    let Data::Struct(data) = &input.data else {
        return refused("only a struct is Typed: of an enum or a union some bits are no value");
    };
    if !is_laid_out(input)? {
        return refused(
            "a struct is Typed with #[repr(C)] or #[repr(transparent)]: otherwise a compiler may \
             order its fields in its own way",
        );
    }
    if !input.generics.params.is_empty() {
        return refused("a struct with parameters is not Typed: derive it for a struct of its own");
    }
    let (own, name) = (&input.ident, input.ident.to_string());
    let fields = match &data.fields {
        Fields::Named(fields) => fields.named.iter().collect(),
        Fields::Unnamed(fields) => fields.unnamed.iter().collect(),
        Fields::Unit => Vec::new(),
    };
    let fields = fields.into_iter().enumerate().map(|(number, field)| {
        let member = match &field.ident {
            Some(ident) => syn::Member::from(ident.clone()),
            None => syn::Member::from(number),
        };
        let (kind, called) = (&field.ty, quote!(#member).to_string());
        quote! {
            .field::<#kind>(#called, ::core::mem::offset_of!(#own, #member))
        }
    });
    Ok(quote! {
        impl ::narrows_services::Typed for #own {
            fn describe(text: &mut ::std::string::String) {
                ::narrows_services::Struct::new(text, #name)
                    #(#fields)*
                    .end(::core::mem::size_of::<#own>());
            }
        }
    })
}
