// As caller.c, by Rust's FFI.
use std::ffi::{c_char, c_int, c_void, CStr};
use std::io::{Read, Write};

#[repr(C)]
struct DLTensor {
    data: *mut c_void,
    device: [i32; 2],
    ndim: i32,
    code: u8,
    bits: u8,
    lanes: u16,
    shape: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
}

type Function = unsafe extern "C" fn(*const DLTensor, i32, *mut DLTensor, i32) -> c_int;

extern "C" {
    fn twelve_error() -> *const c_char;
}
include!("names.rs");

struct Tensor {
    code: u8,
    bits: u8,
    shape: Vec<i64>,
    data: Vec<u64>, // as aligned as a double is
}

impl Tensor {
    fn bytes(&self) -> usize {
        self.shape.iter().fold(self.bits as usize / 8, |n, length| n * *length as usize)
    }
    fn allocate(&mut self) {
        self.data = vec![0; self.bytes() / 8 + 1];
    }
    fn content(&mut self) -> &mut [u8] {
        let bytes = self.bytes();
        unsafe { std::slice::from_raw_parts_mut(self.data.as_mut_ptr() as *mut u8, bytes) }
    }
    fn view(&mut self) -> DLTensor {
        DLTensor {
            data: self.data.as_mut_ptr() as *mut c_void,
            device: [1, 0],
            ndim: self.shape.len() as i32,
            code: self.code,
            bits: self.bits,
            lanes: 1,
            shape: self.shape.as_mut_ptr(),
            strides: std::ptr::null_mut(),
            byte_offset: 0,
        }
    }
}

fn read_number(from: &mut impl Read) -> i64 {
    let mut bytes = [0; 8];
    from.read_exact(&mut bytes).unwrap();
    i64::from_ne_bytes(bytes)
}

fn read_tensor(from: &mut impl Read) -> Tensor {
    let (code, bits) = (read_number(from) as u8, read_number(from) as u8);
    let rank = read_number(from);
    let shape = (0..rank).map(|_| read_number(from)).collect();
    let mut tensor = Tensor { code, bits, shape, data: vec![] };
    tensor.allocate();
    from.read_exact(tensor.content()).unwrap();
    tensor
}

fn make_call(from: &mut impl Read, to: &mut impl Write, function: (Function, Function)) -> c_int {
    let (nin, nout) = (read_number(from) as i32, read_number(from) as i32);
    let mut given: Vec<Tensor> = (0..nin).map(|_| read_tensor(from)).collect();
    let input: Vec<DLTensor> = given.iter_mut().map(Tensor::view).collect();
    let mut made: Vec<Tensor> =
        (0..nout).map(|_| Tensor { code: 0, bits: 0, shape: vec![0; 8], data: vec![] }).collect();
    let mut output: Vec<DLTensor> = made.iter_mut().map(Tensor::view).collect();
    let mut status = unsafe { function.1(input.as_ptr(), nin, output.as_mut_ptr(), nout) };
    for (tensor, view) in made.iter_mut().zip(output.iter_mut()) {
        (tensor.code, tensor.bits) = (view.code, view.bits);
        tensor.shape.truncate(view.ndim as usize);
        tensor.allocate();
        *view = tensor.view();
    }
    if status >= 0 {
        status = unsafe { function.0(input.as_ptr(), nin, output.as_mut_ptr(), nout) };
    }
    to.write_all(&(status as i64).to_ne_bytes()).unwrap();
    for tensor in made.iter_mut().filter(|_| status >= 0) {
        to.write_all(&(tensor.shape.len() as i64).to_ne_bytes()).unwrap();
        for length in &tensor.shape {
            to.write_all(&length.to_ne_bytes()).unwrap();
        }
        to.write_all(tensor.content()).unwrap();
    }
    status
}

fn main() {
    let (from, to) = (&mut std::io::stdin().lock(), &mut std::io::stdout().lock());
    for _ in 0..read_number(from) {
        let function = FUNCTIONS[read_number(from) as usize];
        if make_call(from, to, function) < 0 {
            eprintln!("{}", unsafe { CStr::from_ptr(twelve_error()) }.to_string_lossy());
            std::process::exit(1);
        }
    }
}
