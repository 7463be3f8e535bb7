import Foundation
import Tandem
import TandemIO
import Testing

/// A finished run of one of the project's programs.
struct CommandRun {
    let code: Int32
    /// Standard output and standard error together.
    let output: String

    var lines: [String] { output.split(separator: "\n").map(String.init) }

    /// The lines that are JSON.
    var json: [JSON] { lines.compactMap { try? JSON(parsing: $0) } }

    /// Runs a program of this build and waits for its end.
    init(_ program: String, _ arguments: [String]) throws {
        try self.init(path: DaemonProcess.products + "/" + program, arguments)
    }

    /// Runs any program and waits for its end.
    init(path: String, _ arguments: [String]) throws {
        let child = try ChildProcess.start(
            "/bin/sh", ["-c", "exec \"$0\" \"$@\" 2>&1", path] + arguments, output: .pipe)
        var bytes = Data()
        if let output = child.output {
            bytes = FileHandle(fileDescriptor: output, closeOnDealloc: false).readDataToEndOfFile()
        }
        output = String(decoding: bytes, as: UTF8.self)
        switch child.wait() {
        case .exited(let code): self.code = code
        case .signalled(let signal): code = -signal
        }
    }
}

/// Runs `tandem` with exactly these arguments.
func runTandem(_ arguments: String...) throws -> CommandRun {
    try CommandRun("tandem", arguments)
}

/// Expects an exit code, and an output that contains these parts.
func expect(
    _ run: CommandRun, _ code: Int32, _ parts: String...,
    at location: SourceLocation = #_sourceLocation
) {
    run.expect(code, parts, location)
}

/// Expects an exit code, and an output of one line that contains these parts.
func expectLine(
    _ run: CommandRun, _ code: Int32, _ parts: String...,
    at location: SourceLocation = #_sourceLocation
) {
    run.expect(code, parts, location)
    #expect(run.lines.count == 1, "\(run.output)", sourceLocation: location)
}

extension CommandRun {
    fileprivate func expect(_ code: Int32, _ parts: [String], _ location: SourceLocation) {
        #expect(self.code == code, "\(output)", sourceLocation: location)
        for part in parts {
            #expect(output.contains(part), "\(output)", sourceLocation: location)
        }
    }
}
