import Foundation
import TandemIO

/// A directory that is removed with the last reference to it.
package final class Scratch: Sendable {
    package let path: String
    private let isOwner: Bool

    /// Creates a directory with a short name, because socket paths may have only 107 bytes.
    ///
    /// The directory is in memory if `inMemory` is set and the system has a memory file system.
    package init(inMemory: Bool = false) throws {
        let base = inMemory ? Self.memoryFolder : FileManager.default.temporaryDirectory.path
        isOwner = true
        path = base + "/t-\(UUID().uuidString.prefix(13))"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    /// Refers to a subdirectory of another scratch directory, which removes it.
    package init(in path: String) {
        self.path = path
        isOwner = false
    }

    deinit { if isOwner { try? FileManager.default.removeItem(atPath: path) } }

    /// A folder in memory, or the temporary folder if the system has no memory file system.
    ///
    /// The folder is removed with its contents when the process exits.
    package static let memoryFolder: String = {
        guard FileManager.default.isWritableFile(atPath: memory) else {
            return FileManager.default.temporaryDirectory.path
        }
        try? FileManager.default.createDirectory(
            atPath: ownMemory, withIntermediateDirectories: true)
        atexit { try? FileManager.default.removeItem(atPath: Scratch.ownMemory) }
        return ownMemory
    }()

    private static let memory = "/dev/shm"
    private static let ownMemory = "\(memory)/tandem-\(ThisProcess.processID)"

    /// Creates a subdirectory and returns its path.
    package func directory(_ name: String) throws -> String {
        let path = path + "/" + name
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        return path
    }

    /// Returns the bytes of a file, or nil for a directory or a missing file.
    package static func file(_ path: String) -> [UInt8]? {
        var isDirectory: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory),
            !isDirectory.boolValue
        else { return nil }
        return FileManager.default.contents(atPath: path).map { Array($0) }
    }

    /// Writes a new file.
    package static func write(_ bytes: [UInt8], to path: String) throws {
        let file = try RealFileSystem().open(path, .createNew)
        defer { file.close() }
        try file.write(bytes, at: 0)
    }
}
