import Foundation
import Tandem
import TandemIO

/// The temporary store and the processes of the demo; ``close()`` ends the processes and removes
/// the store.
final class DemoEnvironment {
    /// The directory that contains the store, the socket and the report.
    let directory: String
    private let signals: SignalSource
    private let poller: Poller
    private var children: [(name: String, process: ChildProcess)] = []
    /// The timeout of every wait, in seconds.
    private static let timeoutSeconds: UInt64 = 120

    /// Creates a directory that only its owner can access.
    init(_ signals: SignalSource) throws {
        let base = ThisProcess.environment("TMPDIR") ?? "/tmp"
        let name = ThisProcess.randomBytes(6).map { String($0, radix: 36) }.joined()
        directory = "\(base)/worldcup-\(name)"
        self.signals = signals
        poller = try Poller()
        try poller.add(signals.descriptor, token: 0, interest: .read)
        try RealFileSystem().createDirectory(directory, mode: 0o700)
    }

    /// The daemon's socket.
    var socket: String { directory + "/socket" }

    /// Starts a program that runs until it exits or ``close()`` ends it.
    @discardableResult
    func start(
        _ name: String, _ path: String, _ arguments: [String],
        input: ChildProcess.Stream = .null, output: ChildProcess.Stream = .inherited
    ) throws -> ChildProcess {
        let process = try ChildProcess.start(path, arguments, input: input, output: output)
        children.append((name, process))
        return process
    }

    /// Starts another process of this executable, with a verb.
    func start(
        _ name: String, _ arguments: [String], input: ChildProcess.Stream = .null,
        output: ChildProcess.Stream = .inherited
    ) throws -> ChildProcess {
        let path = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        return try start(
            name, path, arguments + ["--socket", socket], input: input, output: output)
    }

    /// Waits until a condition holds.
    ///
    /// Throws if a signal arrives, a process fails, the daemon ends, or the timeout expires.
    func wait(_ what: String, until isDone: () -> Bool) throws {
        let clock = SystemClock()
        let end = clock.monotonicNanoseconds + Self.timeoutSeconds * 1_000_000_000
        var events: [Poller.Event] = []
        while !isDone() {
            try poller.wait(timeoutMilliseconds: 20, into: &events)
            if signals.next() != nil { throw TandemError(.storage, "interrupted") }
            for (name, process) in children {
                if let status = process.status, status != .exited(0) || name == "tandemd" {
                    throw TandemError(.storage, "\(name) ended too early: \(status)")
                }
            }
            if clock.monotonicNanoseconds > end {
                throw TandemError(.timeout, "\(what) took longer than \(Self.timeoutSeconds) s")
            }
        }
    }

    /// Waits until a process has exited; throws unless its exit code is 0.
    func finish(_ process: ChildProcess, _ name: String) throws {
        try wait("the end of \(name)") { process.status != nil }
        guard process.status == .exited(0) else {
            throw TandemError(.storage, "\(name) failed")
        }
    }

    /// Waits until a process has exited and returns its output, which must fit into a pipe.
    func output(of process: ChildProcess, _ name: String) throws -> String {
        try finish(process, name)
        guard let descriptor = process.output else { return "" }
        var text = ""
        let lines = StandardInput(descriptor: descriptor)
        while let line = try lines.readLine() {
            text += String(decoding: line, as: UTF8.self) + "\n"
        }
        return text
    }

    /// Stops the daemon; throws unless its exit code is 0.
    func stopDaemon() throws {
        for (name, process) in children where name == "tandemd" {
            process.terminate()
            guard process.wait() == .exited(0) else {
                throw TandemError(.storage, "tandemd did not stop cleanly: \(process.wait())")
            }
        }
    }

    /// Ends all running processes, waits for them, and removes the directory.
    func close() {
        for (_, process) in children.reversed() {
            process.closeInput()
            process.terminate()
            process.wait()
        }
        try? FileManager.default.removeItem(atPath: directory)
    }
}
