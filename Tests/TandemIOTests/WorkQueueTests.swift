import TandemIO
import Testing

@Suite(.ownThread) struct WorkQueueTests {
    /// Threads that dequeue elements until the queue is closed.
    private struct Takers {
        private let taken: Locked<[[Int]]>
        private let threads: [KernelThread]

        /// Starts `count` threads, each of which calls `visit` with every element that it dequeues.
        init(
            _ count: Int, _ queue: WorkQueue<Int>,
            visit: @escaping @Sendable (Int) -> Void = { _ in }
        ) throws {
            let taken = Locked([[Int]](repeating: [], count: count))
            self.taken = taken
            threads = try (0..<count).map { at in
                try KernelThread.start(name: "taker") {
                    while let element = queue.dequeue() {
                        taken.withLock { $0[at].append(element) }
                        visit(element)
                    }
                }
            }
        }

        /// Waits for all threads to end, and returns the elements that each dequeued, in order.
        func finished() -> [[Int]] {
            for thread in threads { thread.join() }
            return taken.withLock(\.self)
        }
    }

    @Test func `elements are returned in the order in which they were added`() {
        let queue = WorkQueue<Int>()
        for round in 0..<3 {
            for element in 0..<100 { queue.add(round * 100 + element) }
            #expect((0..<100).map { _ in queue.dequeue() } == (0..<100).map { round * 100 + $0 })
        }
    }

    @Test func `a waiting thread gets each element, in order`() throws {
        let queue = WorkQueue<Int>()
        let left = Locked(1_000)
        let waiter = WorkQueue<Void>()
        let takers = try Takers(1, queue) { _ in
            if left.withLock({
                $0 -= 1; return $0
            }) == 0 {
                waiter.add(())
            }
        }
        for element in 0..<1_000 { queue.add(element) }
        #expect(waiter.dequeue() != nil)
        queue.close()
        #expect(takers.finished() == [Array(0..<1_000)])
    }

    @Test func `each element is given to one of several threads, in order`() throws {
        let queue = WorkQueue<Int>()
        let left = Locked(3_000)
        let waiter = WorkQueue<Void>()
        let takers = try Takers(4, queue) { _ in
            if left.withLock({
                $0 -= 1; return $0
            }) == 0 {
                waiter.add(())
            }
        }
        let adders = try (0..<3).map { adder in
            try KernelThread.start(name: "adder") {
                for element in 0..<1_000 { queue.add(adder * 1_000 + element) }
            }
        }
        for adder in adders { adder.join() }
        #expect(waiter.dequeue() != nil)
        queue.close()
        let taken = takers.finished()
        #expect(taken.joined().sorted() == Array(0..<3_000))
        // The elements that one thread added are dequeued in order.
        for own in taken {
            for adder in 0..<3 {
                let part = own.filter { $0 / 1_000 == adder }
                #expect(part == part.sorted())
            }
        }
    }

    @Test(arguments: 0..<20) func `closing wakes all waiting threads, at any time`(
        elements: Int
    ) throws {
        let queue = WorkQueue<Int>()
        let takers = try Takers(4, queue)
        for element in 0..<elements { queue.add(element) }
        queue.close()
        let taken = takers.finished().joined().sorted()
        // Elements left in the queue when it is closed are dropped; these are the last ones.
        #expect(taken == Array(0..<taken.count) && taken.count <= elements)
        #expect(queue.dequeue() == nil)
    }

    @Test func `after closing there are no elements, neither old nor new ones`() {
        let queue = WorkQueue<Int>()
        queue.add(1)
        queue.close()
        #expect(queue.dequeue() == nil)
        queue.add(2)
        queue.close()
        #expect(queue.dequeue() == nil)
    }

    @Test func `dropped elements are released`() {
        final class Element: Sendable {}
        let queue = WorkQueue<Element>()
        weak var held: Element?
        do {
            let element = Element()
            held = element
            queue.add(element)
        }
        #expect(held != nil)
        queue.close()
        #expect(held == nil)
    }
}
