import Glibc
import TandemIO
import TestSupport
import Testing

@testable import Tandem

/// An executor whose jobs a loop drains.
@Suite(.ownThread) struct LoopExecutorTests {
    /// An actor on a loop of the test's own thread.
    private actor Counter {
        nonisolated let loop: LoopExecutor
        nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
        var count = 0
        /// Called by each addition.
        private var onAdd: (() -> Void)?

        init(_ loop: LoopExecutor) { self.loop = loop }

        func add() {
            count += 1
            onAdd?()
        }

        func onAdd(_ handler: @escaping @Sendable () -> Void) { onAdd = handler }
    }

    private func isReadable(_ descriptor: Int32) -> Bool {
        var source = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&source, 1, 0) == 1
    }

    /// Waits until the descriptor is readable.
    private func wait(_ descriptor: Int32) {
        var source = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        _ = poll(&source, 1, -1)
    }

    /// Runs `body` with an executor of the thread that runs it.
    private func onLoop(_ body: (LoopExecutor, Counter) throws -> Void) throws {
        let loop = try LoopExecutor()
        try body(loop, Counter(loop))
    }

    @Test func `the descriptor is readable while jobs wait, and draining runs them`() throws {
        try onLoop { loop, counter in
            #expect(!isReadable(loop.fileDescriptor))
            loop.drain()
            for _ in 0..<10 { Task { await counter.add() } }
            while counter.assumeIsolated({ $0.count }) < 10 {
                wait(loop.fileDescriptor)
                loop.drain()
            }
            loop.drain()
            #expect(!isReadable(loop.fileDescriptor))
        }
    }

    @Test func `a nested drain runs nothing and loses nothing`() throws {
        try onLoop { loop, counter in
            let counts = Locked<[Int]>([])
            counter.assumeIsolated { counter in
                counter.onAdd {
                    loop.drain()
                    counts.withLock { $0.append($0.count) }
                }
            }
            for _ in 0..<20 { Task { await counter.add() } }
            while counter.assumeIsolated({ $0.count }) < 20 {
                wait(loop.fileDescriptor)
                loop.drain()
            }
            #expect(counts.withLock { $0 } == Array(0..<20))
        }
    }

    @Test func `the handler is called when the first job arrives`() throws {
        try onLoop { loop, counter in
            let semaphore = try ThreadSemaphore()
            loop.onWork { semaphore.signal() }
            Task { await counter.add() }
            semaphore.wait()
            #expect(counter.assumeIsolated { $0.count } == 0)
            loop.drain()
            #expect(counter.assumeIsolated { $0.count } == 1)
            Task { await counter.add() }
            semaphore.wait()
            let calls = Locked(0)
            loop.onWork { calls.withLock { $0 += 1 } }
            #expect(calls.withLock { $0 } == 1)
            loop.drain()
            loop.onWork(nil)
        }
    }

    @Test func `draining on another thread traps with a message`() async throws {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let loop = try LoopExecutor()
            let thread = try KernelThread.start(name: "other") { loop.drain() }
            thread.join()
        }
        let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(message.contains("must be called on the thread of the loop"), "\(message)")
    }

    @Test func `entering the actor on another thread traps with a message`() async throws {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let thread = try KernelThread.start(name: "other") { LoopActor.assumeIsolated {} }
            thread.join()
        }
        let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(message.contains("must be called on the main thread"), "\(message)")
    }
}
