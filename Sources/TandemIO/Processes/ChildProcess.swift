import Glibc
import Synchronization

/// A child process that runs another program.
///
/// The child starts with no signal blocked or ignored, and with the parent's environment. If it
/// still runs when the last reference is released, it is killed and reaped, so that no child
/// outlives its owner.
///
/// The package swift-subprocess is not used: its children live only within an async closure, and
/// those of the tool, the pager and the tests outlive the call that starts them.
///
///     let child = try ChildProcess.start("/usr/bin/tandemd", ["--store", store])
///     child.terminate()
///     let status = child.wait()
public final class ChildProcess: Sendable {
    /// The file to which one of the child's standard streams is connected.
    public enum Stream: Hashable, Sendable {
        /// The parent's stream.
        case inherited
        /// `/dev/null`.
        case null
        /// A pipe whose other end the parent holds.
        case pipe
    }

    /// The exit status of a child.
    public enum Status: Hashable, Sendable {
        /// The child exited with this code.
        case exited(Int32)
        /// The child was killed by this signal.
        case signalled(Int32)
    }

    /// The process id.
    public let processID: Int32
    /// The parent's end of the pipe to the child's standard input; nil if that is not a pipe.
    public let input: Int32?
    /// The parent's end of the pipe from the child's standard output; nil if that is not a pipe.
    public let output: Int32?
    private let ended = Locked<Status?>(nil)
    private let inputOpen: Atomic<Bool>

    /// Starts the program at `path` with `arguments`; the path is added as the first argument.
    ///
    /// Throws if the program can't be started. Standard error is always inherited.
    public static func start(
        _ path: String, _ arguments: [String], input: Stream = .null, output: Stream = .inherited
    ) throws(IOError) -> ChildProcess {
        let ends = try (
            SpawnPipe(input, parentWrites: true), SpawnPipe(output, parentWrites: false)
        )
        defer {
            ends.0.closeChildEnd()
            ends.1.closeChildEnd()
        }
        var processID: pid_t = 0
        let result = spawn(path, arguments, ends.0.childEnd, ends.1.childEnd, &processID)
        guard result == 0 else {
            ends.0.closeParentEnd()
            ends.1.closeParentEnd()
            throw IOError(.startProcess, path, errno: result)
        }
        return ChildProcess(processID, ends.0.parentEnd, ends.1.parentEnd)
    }

    private init(_ processID: Int32, _ input: Int32?, _ output: Int32?) {
        self.processID = processID
        self.input = input
        self.output = output
        inputOpen = Atomic(input != nil)
    }

    deinit {
        if status == nil {
            kill()
            wait()
        }
        closeInput()
        if let output { _ = Glibc.close(output) }
    }

    /// Asks the child to end (SIGTERM); does nothing if it has ended.
    public func terminate() { send(SIGTERM) }

    /// Kills the child (SIGKILL); does nothing if it has ended.
    public func kill() { send(SIGKILL) }

    /// Closes the pipe to the child's standard input.
    ///
    /// Does nothing if standard input is not a pipe or is closed already.
    public func closeInput() {
        guard let input, inputOpen.exchange(false, ordering: .acquiringAndReleasing) else { return }
        _ = Glibc.close(input)
    }

    /// Writes text to the child's standard input; returns false if the child no longer reads.
    @discardableResult
    public func write(_ text: String) -> Bool {
        guard let input, inputOpen.load(ordering: .acquiring) else { return false }
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let written = rest.withUnsafeBytes { bytes in
                retrying { Glibc.write(input, bytes.baseAddress, bytes.count) }
            }
            guard case .success(let count) = written else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    /// Returns the next bytes of the child's standard output, waiting for them.
    ///
    /// Returns an empty array at the end of the output, or if the output is not a pipe.
    public func read(count: Int) throws(IOError) -> [UInt8] {
        guard let output else { return [] }
        var bytes = [UInt8](repeating: 0, count: count)
        let result = bytes.withUnsafeMutableBytes { buffer in
            retrying { Glibc.read(output, buffer.baseAddress, buffer.count) }
        }
        switch result {
        case .success(let count): return Array(bytes.prefix(count))
        case .failure(let error): throw IOError(.read, "<pipe>", errno: error.number)
        }
    }

    /// The exit status; nil while the child runs.
    public var status: Status? { reap(WNOHANG) }

    /// Waits until the child has ended; every call returns the same status.
    @discardableResult
    public func wait() -> Status { reap(0) ?? .exited(0) }

    private func send(_ signal: Int32) {
        ended.withLock { ended in
            // The process id can't be reused before the child is reaped.
            if ended == nil { _ = Glibc.kill(processID, signal) }
        }
    }

    /// Waits without the lock and without reaping, and then reaps with the lock held.
    ///
    /// ``kill()`` thus never waits for the lock while the child runs, and never signals a reused
    /// id.
    private func reap(_ options: Int32) -> Status? {
        if options == 0 { waitWithoutReaping() }
        return ended.withLock { ended in
            if let ended { return ended }
            var raw: Int32 = 0
            let result = retrying { Int(waitpid(processID, &raw, WNOHANG)) }
            if case .success(0) = result { return nil }
            ended = Self.status(raw)
            return ended
        }
    }

    private func waitWithoutReaping() {
        if ended.withLock({ $0 != nil }) { return }
        var info = siginfo_t()
        _ = retrying { Int(waitid(P_PID, id_t(processID), &info, WEXITED | WNOWAIT)) }
    }

    private static func status(_ raw: Int32) -> Status {
        let signal = raw & 0x7f
        return signal == 0 ? .exited((raw >> 8) & 0xff) : .signalled(signal)
    }

    // MARK: Starting

    private static func spawn(
        _ path: String, _ arguments: [String], _ input: Int32?, _ output: Int32?,
        _ processID: inout pid_t
    ) -> Int32 {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        if let input { posix_spawn_file_actions_adddup2(&actions, input, 0) }
        if let output { posix_spawn_file_actions_adddup2(&actions, output, 1) }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        sigfillset(&signals)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        let flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF
        posix_spawnattr_setflags(&attributes, Int16(flags))
        var words: [UnsafeMutablePointer<CChar>?] = ([path] + arguments).map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        return posix_spawn(&processID, path, &actions, &attributes, &words, environ)
    }
}

/// One standard stream of a child that is about to be started: the child's end and the parent's
/// end.
private struct SpawnPipe {
    let childEnd: Int32?
    let parentEnd: Int32?

    init(_ stream: ChildProcess.Stream, parentWrites: Bool) throws(IOError) {
        switch stream {
        case .inherited: (childEnd, parentEnd) = (nil, nil)
        case .null:
            childEnd = try check(.open, "/dev/null") { Glibc.open("/dev/null", O_RDWR | O_CLOEXEC) }
            parentEnd = nil
        case .pipe:
            var ends: [Int32] = [-1, -1]
            try check(.startProcess, "<pipe>") { Linux.pipe(&ends, Linux.closeOnExec) }
            (childEnd, parentEnd) = parentWrites ? (ends[0], ends[1]) : (ends[1], ends[0])
        }
    }

    func closeChildEnd() { if let childEnd { _ = Glibc.close(childEnd) } }
    func closeParentEnd() { if let parentEnd { _ = Glibc.close(parentEnd) } }
}
