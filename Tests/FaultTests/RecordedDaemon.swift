import FoundationEssentials
import TandemIO
import TestSupport
import Testing

/// The recorder, built once per test run by the system's compiler.
enum Recorder {
    /// The path of the library to preload.
    static let library: Result<String, any Error> = Result {
        let source = String(#filePath.prefix(upTo: #filePath.lastIndex(of: "/") ?? "".startIndex))
        // Built next to the executables, so that no files are left elsewhere; renamed, so that
        // other processes only see it complete.
        let path = RecordedDaemon.products + "/tandem-recorder.so"
        let part = "\(path).\(ThisProcess.processID)"
        let words = ["-shared", "-fPIC", "-O1", "-o", part, source + "/Recorder/recorder.c"]
        for compiler in ["cc", "clang", "gcc"] {
            let child = try ChildProcess.start("/usr/bin/env", [compiler] + words)
            if child.wait() == .exited(0) {
                try RealFileSystem().rename(part, to: path)
                return path
            }
        }
        throw Failure("no C compiler builds the recorder: install clang or gcc")
    }

    struct Failure: Error, CustomStringConvertible {
        let description: String
        init(_ description: String) { self.description = description }
    }
}

/// The location of a store, its socket, and the recording of the store's files.
struct FaultPlace {
    let scratch: Scratch
    /// The directory whose files are recorded; the store is in it.
    let disk: String
    var store: String { disk + "/store" }
    var socket: String { scratch.path + "/socket" }
    var log: String { scratch.path + "/log" }

    init(_ scratch: Scratch, disk: String? = nil) throws {
        self.scratch = scratch
        self.disk = try disk ?? scratch.directory("disk")
    }
}

/// A `tandemd` of this build in a separate process, under the recorder.
final class RecordedDaemon {
    /// The segment size: small, so that many segments are created.
    static let segmentBytes = 32 << 10

    private let child: ChildProcess
    private var output: [UInt8] = []
    /// Whether the daemon became ready.
    private(set) var isServing = false

    /// Starts the daemon under the recorder, and waits until it is ready or ends.
    convenience init(
        _ place: FaultPlace, faults: String = "", durability: String = "full"
    ) throws {
        try? FileManager.default.removeItem(atPath: place.log)
        let environment = [
            "LD_PRELOAD=" + (try Recorder.library.get()), "REC_DIR=" + place.disk,
            "REC_LOG=" + place.log, "REC_FAULTS=" + faults, "SWIFT_BACKTRACE=enable=no",
        ]
        try self.init(place, under: environment, durability: durability)
    }

    /// Starts the daemon with a command prefix, and waits until it is ready or ends.
    init(_ place: FaultPlace, under words: [String], durability: String = "full") throws {
        let daemon = [
            Self.products + "/tandemd", "--store", place.store, "--socket", place.socket,
            "--segment-kibibytes", "\(Self.segmentBytes >> 10)", "--durability", durability,
        ]
        child = try ChildProcess.start(
            "/bin/sh", ["-c", "exec env \"$@\" 2>&1", "sh"] + words + daemon, output: .pipe)
        isServing = read { $0.contains("ready:") }
    }

    /// The directory of the executables that were built with this test.
    static let products: String = {
        let path =
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        return String(path.prefix(upTo: path.lastIndex(of: "/") ?? path.startIndex))
    }()

    /// The daemon's output.
    var text: String { String(decoding: output, as: UTF8.self) }

    /// Kills the daemon.
    func kill() {
        child.kill()
        child.wait()
    }

    /// Asks the daemon to stop.
    func terminate() { child.terminate() }

    /// Waits for the daemon's end, and reads the rest of its output.
    func wait() -> ChildProcess.Status {
        _ = read { _ in false }
        return child.wait()
    }

    /// Reads output until `isEnough` returns true; returns false at the end of the output.
    private func read(until isEnough: (String) -> Bool) -> Bool {
        guard let descriptor = child.output else { return false }
        var buffer = [UInt8](repeating: 0, count: 4_096)
        while !isEnough(text) {
            let count = buffer.withUnsafeMutableBytes { Kernel.read(descriptor, $0) }
            guard count > 0 else { return false }
            output += buffer[..<count]
        }
        return true
    }
}
