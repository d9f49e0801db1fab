// SPDX-License-Identifier: MIT
// What Rust and its library pass; as library.cpp.
use std::hint::black_box;
use std::rc::Rc;
use std::sync::atomic::{AtomicI32, Ordering};

pub struct Point {
    x: i32,
    name: String,
}

pub enum Shape {
    Empty,
    Circle(f32),
    Rect { width: u16, height: u16 },
}

#[inline(never)]
pub fn texts(text: &str, owned: &String, bytes: &[u8], list: &Vec<u8>) -> usize {
    black_box(text.len() + owned.len() + bytes.len() + list.len())
}

#[inline(never)]
pub fn several(numbers: &[i32], reals: &Vec<f64>, shared: &Rc<Point>) -> usize {
    black_box(numbers.len() + reals.len() + shared.x as usize)
}

#[inline(never)]
pub fn ways(shape: &Shape, count: &AtomicI32) -> i32 {
    let size = match shape {
        Shape::Empty => 0,
        Shape::Circle(radius) => *radius as i32,
        Shape::Rect { width, height } => *width as i32 * *height as i32,
    };
    black_box(size + count.load(Ordering::Relaxed))
}

impl Point {
    #[inline(never)]
    pub fn far(&self, by: i32) -> i32 {
        black_box(self.x + by + self.name.len() as i32)
    }
}

fn main() {
    let owned = String::from("owned");
    let shared = Rc::new(Point { x: black_box(6), name: "shared".into() });
    let count = AtomicI32::new(black_box(-12));
    let long = black_box("borrowed and more");

    texts(&long[..black_box(8)], &owned, black_box(&b"bytes!"[..]), &vec![b'a', b'b', b'c']);
    several(black_box(&[5, -6, 7][..]), &vec![1.5, 2.5], &shared);
    ways(&Shape::Rect { width: 3, height: 4 }, &count);
    ways(&Shape::Circle(black_box(1.5)), &count);
    ways(&Shape::Empty, &count);
    shared.far(black_box(3));
}
