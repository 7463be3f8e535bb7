import Glibc
import TestSupport
import Testing

@testable import TandemIO

@Suite(.ownThread) struct PollerTests {
    @Test func `a poller reports ready descriptors`() throws {
        let poller = try Poller()
        let (left, right) = try Socket.pair()
        var events: [Poller.Event] = []
        try poller.add(right.descriptor, token: .max - 1, interest: .read)
        try poller.wait(timeoutMilliseconds: 0, into: &events)
        #expect(events.isEmpty)
        try left.writeAll([1])
        try poller.wait(timeoutMilliseconds: 1_000, into: &events)
        #expect(events.map(\.token) == [.max - 1])
        #expect(events[0].isReadable && !events[0].isWritable && !events[0].isClosed)
        try poller.modify(right.descriptor, token: 2, interest: [.read, .write])
        try poller.wait(timeoutMilliseconds: 1_000, into: &events)
        #expect(events.map(\.token) == [2] && events[0].isWritable)
        left.shutdown()
        try poller.wait(timeoutMilliseconds: 1_000, into: &events)
        #expect(events.first?.isClosed == true)
        try poller.remove(right.descriptor)
        try poller.wait(timeoutMilliseconds: 0, into: &events)
        #expect(events.isEmpty)
    }

    @Test func `two signals from another thread wake a poller once`() throws {
        let poller = try Poller()
        let wake = try WakeUp()
        try poller.add(wake.descriptor, token: 7, interest: .read)
        let thread = try KernelThread.start(name: "waker") {
            wake.signal()
            wake.signal()
        }
        var events: [Poller.Event] = []
        try poller.wait(timeoutMilliseconds: 10_000, into: &events)
        #expect(events.map(\.token) == [7])
        thread.join()
        thread.join()
        wake.clear()
        try poller.wait(timeoutMilliseconds: 0, into: &events)
        #expect(events.isEmpty)
    }

    @Test func `signals are delivered as values`() throws {
        let seen = Locked<[SignalSource.Signal?]>([])
        let thread = try KernelThread.start(name: "signals") {
            guard let source = try? SignalSource() else { return }
            pthread_kill(pthread_self(), SIGHUP)
            let signals = [source.next(), source.next()]
            seen.withLock { $0 = signals }
        }
        thread.join()
        #expect(seen.withLock { $0 } == [.hangUp, nil])
    }
}

@Suite(.ownThread) struct ProcessTests {
    @Test func `random bytes differ`() {
        #expect(ThisProcess.randomBytes(16) != ThisProcess.randomBytes(16))
        #expect(ThisProcess.randomBytes(0).isEmpty)
    }

    @Test func `a user has a name`() {
        #expect(ThisProcess.userName(0) == "root")
        #expect(ThisProcess.userName(4_000_000_000) == nil)
    }

    @Test func `units are read from both versions of control groups`() {
        func units(_ text: String) -> String? {
            SystemdUnits(inControlGroups: text)?.description
        }
        let second = "0::/system.slice/tandemd@default.service\n"
        let first = "3:cpu:/x\n1:name=systemd:/user.slice/user-1.slice/session-2.scope\n"
        #expect(units(second) == "tandemd@default.service")
        #expect(units(first) == "session-2.scope")
        #expect(units("0::/\n") == nil)
    }

    @Test func `units that a user can name are not system units`() {
        func units(_ path: String) -> SystemdUnits? {
            SystemdUnits(inControlGroups: "0::\(path)\n")
        }
        let manager = "/user.slice/user-1002.slice/user@1002.service"
        let forged = units(manager + "/app.slice/nginx.service")
        #expect(forged?.system == "user@1002.service" && forged?.user == "nginx.service")
        #expect(forged?.description == "user@1002.service/nginx.service")
        #expect(units(manager + "/app.slice")?.description == "user@1002.service")
        let deeper = units(manager + "/app.slice/a.service/nginx.service")
        #expect(deeper?.user == "a.service")
        for name in ["nginx", "nginx.service"] {
            #expect(SystemdUnits.matches(name, recorded: "nginx.service"))
            #expect(!SystemdUnits.matches(name, recorded: "user@1002.service/nginx.service"))
        }
        for name in ["user@1002", "user@1002.service/nginx", "user@1002.service/nginx.service"] {
            #expect(SystemdUnits.matches(name, recorded: "user@1002.service/nginx.service"))
        }
        // A service with a delegated control group may create groups of its own.
        let delegated = units("/system.slice/own.service/nginx.service")
        #expect(delegated?.description == "own.service")
    }

    @Test func `a manual clock advances only on request`() {
        let clock = ManualClock(monotonicNanoseconds: 5, wallMicroseconds: 9)
        clock.advance(byNanoseconds: 2_000)
        #expect(clock.monotonicNanoseconds == 2_005 && clock.wallMicroseconds == 11)
        clock.setWall(microseconds: 1)
        #expect(clock.wallMicroseconds == 1 && clock.monotonicNanoseconds == 2_005)
    }

    @Test func `standard input returns lines of any length`() throws {
        var ends: [Int32] = [0, 0]
        #expect(pipe(&ends) == 0)
        let text = Array("one\n\nthree".utf8)
        #expect(text.withUnsafeBytes { write(ends[1], $0.baseAddress, $0.count) } == text.count)
        close(ends[1])
        let input = StandardInput(descriptor: ends[0])
        #expect(try input.readLine() == Array("one".utf8))
        #expect(try input.readLine() == [])
        #expect(try input.readLine() == Array("three".utf8))
        #expect(try input.readLine() == nil)
        close(ends[0])
    }

    @Test func `a stream whose reader has closed it closes silently`() {
        StandardStream.ignoreBrokenPipes()
        var ends: [Int32] = [0, 0]
        #expect(pipe(&ends) == 0)
        close(ends[0])
        let stream = StandardStream(ends[1])
        stream.write("lost")
        stream.write("too")
        #expect(stream.isClosed)
        close(ends[1])
    }

    @Test func `notifications arrive as one line each`() throws {
        let scratch = try Scratch("notify")
        let path = scratch.path + "/n"
        let receiver = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
        let address = try SocketAddress(path, for: .bind)
        #expect(address.withPointer { bind(receiver, $0, $1) } == 0)
        Notify.send(Notify.ready("two\nlines"), to: path)
        var text = [UInt8](repeating: 0, count: 100)
        let count = recv(receiver, &text, 100, 0)
        #expect(String(decoding: text.prefix(count), as: UTF8.self) == "READY=1\nSTATUS=two lines")
        close(receiver)
    }
}
