import Glibc
import TandemIO

/// A process that reads many subscribers' connections, and as many connections of a plain
/// broadcast, in one loop.
///
/// It reports when all are connected, and then whenever all have the next change. It ends when its
/// standard input is closed, and succeeds if every connection has received every change.
struct Subscribers {
    /// The bit in an ``Acknowledgement``'s position that marks the plain broadcast.
    static let plain: UInt64 = 1 << 63
    /// The position in the acknowledgement that reports readiness.
    static let ready: UInt64 = 0

    private var subscribers: [WireSubscriber] = []
    private var plains: [PlainReceiver] = []
    private let poller: Poller
    private var events: [Poller.Event] = []
    private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 16)
    private let reports: Bool
    /// The number of connections that have received each change, for changes that some still lack.
    private var counts: [UInt64: Int] = [:]

    private static let inputToken = UInt64.max

    /// Connects; `plain` is the socket of the broadcast, if there is one.
    init(_ count: Int, _ socket: String, entity: String, plain: String?, reports: Bool) throws {
        self.reports = reports
        poller = try Poller()
        for index in 0..<count {
            subscribers.append(try WireSubscriber(socket, entity: entity))
            try watch(subscribers[index].descriptor, UInt64(index))
        }
        if let plain {
            for index in 0..<count {
                plains.append(PlainReceiver(descriptor: try connected(to: plain)))
                try watch(plains[index].descriptor, UInt64(count + index))
            }
        }
        try watch(STDIN_FILENO, Self.inputToken)
    }

    /// Restricts this process to the core named by `TANDEMBENCH_SUBSCRIBERS_CORE`, if it is set.
    static func reserveCore() throws {
        guard
            let core = getenv("TANDEMBENCH_SUBSCRIBERS_CORE").flatMap({
                Int(String(cString: $0))
            })
        else { return }
        // The call is looked up because Glibc's module map omits it.
        typealias SetAffinity = @convention(c) (pid_t, Int, UnsafeRawPointer) -> Int32
        guard core >= 0, core < 1_024, let symbol = dlsym(nil, "sched_setaffinity") else {
            throw Failure("there is no core \(core)")
        }
        var cores = [UInt8](repeating: 0, count: 128)
        cores[core / 8] = 1 << (core % 8)
        guard unsafeBitCast(symbol, to: SetAffinity.self)(0, cores.count, cores) == 0 else {
            throw Failure("core \(core) can't be had: errno \(errno)")
        }
    }

    private func watch(_ descriptor: Int32, _ token: UInt64) throws {
        try poller.add(descriptor, token: token, interest: .read)
    }

    /// Receives messages until the input ends.
    mutating func run() throws {
        while subscribers.contains(where: { $0.cursor == nil }) { _ = try pass() }
        try Acknowledgement(position: Self.ready, at: processorNanoseconds()).send()
        while try pass() {}
        // Messages that are still in the sockets count too.
        try poller.remove(STDIN_FILENO)
        repeat { _ = try pass(timeoutMilliseconds: 500) } while !events.isEmpty
        try report()
    }

    /// Waits once; returns false if the input has ended.
    private mutating func pass(timeoutMilliseconds: Int32 = -1) throws -> Bool {
        try poller.wait(timeoutMilliseconds: timeoutMilliseconds, into: &events)
        var isOpen = true
        for event in events {
            if event.token == Self.inputToken {
                isOpen = false
            } else {
                try receive(Int(event.token))
            }
        }
        return isOpen
    }

    private mutating func receive(_ index: Int) throws {
        var all: [UInt64] = []
        let (count, total) = (subscribers.count, subscribers.count)
        func countArrival(_ change: UInt64, _ counts: inout [UInt64: Int]) {
            counts[change, default: 0] += 1
            guard counts[change] == total else { return }
            counts[change] = nil
            all.append(change)
        }
        if index < count {
            let isReporting = reports
            var counts: [UInt64: Int] = [:]
            swap(&counts, &self.counts)
            try subscribers[index].receive(buffer) { if isReporting { countArrival($0, &counts) } }
            swap(&counts, &self.counts)
        } else if let change = try plains[index - count].receive(buffer) {
            countArrival(change | Self.plain, &counts)
        }
        for change in all { try Acknowledgement(position: change, at: now()).send() }
    }

    /// Sends the smallest and the largest number of transactions of a connection, the processor
    /// time, and the size of a frame.
    private func report() throws {
        let counts = subscribers.map { UInt64($0.transactions) }
        try send([
            counts.min() ?? 0, counts.max() ?? 0, processorNanoseconds(),
            UInt64(subscribers.first?.frameBytes ?? 0),
        ])
    }
}

/// One connection of the plain broadcast: records of 256 bytes that begin with their numbers, from
/// 1.
struct PlainReceiver {
    static let recordBytes = 256
    let descriptor: Int32
    private var next: UInt64 = 1
    private var have = 0

    init(descriptor: Int32) { self.descriptor = descriptor }

    /// Reads once; returns the number of the record if it is complete now.
    mutating func receive(_ buffer: UnsafeMutableRawBufferPointer) throws -> UInt64? {
        let count = read(descriptor, buffer.baseAddress, Self.recordBytes - have)
        guard count > 0 else { throw Failure("the broadcast ended") }
        if have == 0, count >= 8 {
            guard buffer.loadUnaligned(as: UInt64.self) == next else {
                throw Failure("a receiver of the broadcast got a wrong record")
            }
        }
        have += count
        guard have == Self.recordBytes else { return nil }
        have = 0
        defer { next += 1 }
        return next
    }
}

/// The sending side of the plain broadcast: a loop of writes.
final class PlainBroadcast {
    private let listener: Int32
    private var sockets: [Int32] = []
    private var next: UInt64 = 1
    private var record = [UInt8](repeating: 0x78, count: PlainReceiver.recordBytes)
    /// The processor time used.
    private(set) var processorNanoseconds: UInt64 = 0

    /// Listens at a path.
    init(_ path: String) throws { listener = try connected(to: path, listening: true) }

    deinit { for socket in sockets + [listener] { close(socket) } }

    /// Accepts the connections of `count` receivers.
    func accept(_ count: Int) throws {
        for _ in 0..<count {
            let socket = Glibc.accept(listener, nil, nil)
            guard socket >= 0 else { throw Failure("no receiver: errno \(errno)") }
            _ = fcntl(socket, F_SETFD, FD_CLOEXEC)
            sockets.append(socket)
        }
    }

    /// Sends the next record to all receivers; returns its number.
    func send() throws -> UInt64 {
        let before = tandembench.processorNanoseconds()
        withUnsafeBytes(of: next.littleEndian) { record.replaceSubrange(0..<8, with: $0) }
        for socket in sockets {
            guard write(socket, record, record.count) == record.count else {
                throw Failure("the broadcast can't be written: errno \(errno)")
            }
        }
        processorNanoseconds += tandembench.processorNanoseconds() - before
        defer { next += 1 }
        return next
    }
}

/// Returns the processor time of this process.
func processorNanoseconds() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}
