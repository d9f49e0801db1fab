// SPDX-License-Identifier: MIT
// Go, whose goroutines begin on stacks of some kilobytes, which move when they are too small, and are interrupted anywhere. It says how
// often each function was called, and knows nothing of SIDE.
//
//	going [wait]	wait: for a line on standard input before it begins
package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
)

type order struct {
	table int
	dish  string
}

var fibonacciCalls, deepCalls int64

//go:noinline
func fibonacci(n int) int {
	atomic.AddInt64(&fibonacciCalls, 1)
	if n < 2 {
		return n
	}
	return fibonacci(n-1) + fibonacci(n-2)
}

//go:noinline
func deep(n int) int {
	var room [64]int
	atomic.AddInt64(&deepCalls, 1)
	if n == 0 {
		return 0
	}
	room[n%64] = n
	return deep(n-1) + room[n%64]
}

//go:noinline
func cook(dish string, raw []byte, of *order, weight float64) int {
	return len(dish) + len(raw) + of.table + int(weight)
}

//go:noinline
func (of *order) serve(plates uint8) string {
	return fmt.Sprint(of.dish, plates)
}

func main() {
	if len(os.Args) > 1 {
		bufio.NewReader(os.Stdin).ReadString('\n')
	}
	of := &order{42, "bread"}
	fmt.Println(cook("soup", []byte("abc"), of, 2.5), of.serve(7))
	var done sync.WaitGroup
	sums := make([]int, 16)
	for i := range sums {
		done.Add(1)
		go func(i int) {
			defer done.Done()
			defer func() { _ = recover() }()
			sums[i] = fibonacci(9+i%5) + deep(100*i)
			text := ""
			for k := 0; k < 50; k++ {
				text += fmt.Sprint(map[int]string{k: text})[:4]
			}
			if i%5 == 0 {
				runtime.GC()
			}
			if i%7 == 0 {
				panic(text)
			}
		}(i)
	}
	done.Wait()
	total := 0
	for _, sum := range sums {
		total += sum
	}
	fmt.Println(total, fibonacciCalls, deepCalls)
}
