import Foundation
import TandemIO

/// The output of the commands, and the folder of their processes.
enum Output {
    /// Prints a line and flushes it, so that it appears at once in a pipe too.
    static func line(_ text: String) {
        print(text)
        fflush(nil)
    }

    /// Creates a folder for logs and temporary files.
    static func temporaryFolder() throws -> String {
        let parent = ThisProcess.environment("TMPDIR") ?? "/tmp"
        // The name is short because the folder contains sockets, whose paths may have 107 bytes.
        let path = "\(parent)/tt.\(UUID().uuidString.prefix(6))"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        // Some tests run as other users, which must be able to traverse the folder.
        chmod(path, 0o711)
        return path
    }
}

extension ChildProcess {
    /// Reads the standard output to its end.
    func readAll() throws -> [UInt8] {
        var bytes: [UInt8] = []
        while true {
            let next = try read(count: 1 << 16)
            if next.isEmpty { return bytes }
            bytes += next
        }
    }
}
