import Tandem
import TandemIO

/// The content of an imported file, which can be read several times: a compressed file or a pipe is
/// copied first.
enum TableContent {
    /// The path that stands for standard input.
    static let standardInput = "-"

    /// Returns the path of a file that a map names, with `.gz` added or removed if only that file
    /// exists.
    static func path(_ name: String, in folder: String) throws -> String {
        let path = folder.hasSuffix("/") ? folder + name : folder + "/" + name
        let other = name.hasSuffix(ending) ? String(path.dropLast(ending.count)) : path + ending
        let files = RealFileSystem()
        guard let found = [path, other].first(where: files.exists) else {
            throw CommandFailure("\(folder) has no file \(name), which the map lists", code: 2)
        }
        return found
    }

    /// Whether a path is standard input or another open stream, such as a process substitution; no
    /// file can be created next to it.
    static func isUnnamed(_ path: String) -> Bool {
        path == standardInput || path.hasPrefix("/dev/") || path.hasPrefix("/proc/")
    }

    /// Opens a file; a gzip file is decompressed, and a pipe or standard input is copied, into an
    /// unnamed temporary file.
    ///
    /// The temporary file is in `TMPDIR`, needs as much space as the content, and is deleted when
    /// it is closed. Throws ``CommandFailure`` at the first line of a copy that is longer than a
    /// row can be.
    static func open(_ path: String) throws -> any File {
        let files = RealFileSystem()
        guard path == standardInput || files.exists(path) else {
            throw CommandFailure.noFile(path)
        }
        return try mapped {
            if path.hasSuffix(ending) { return try unpacked(path) }
            let isInput = path == standardInput
            guard isInput || files.isSpecialFile(path) else { return try files.open(path, .read) }
            let stream = isInput ? StreamReader() : try StreamReader(path: path)
            return try copy(isInput ? "standard input" : path, "read", stream.read)
        }
    }

    private static let ending = ".gz"

    private static func unpacked(_ path: String) throws -> any File {
        // The file is passed as standard input, because gzip would print its name without escaping
        // control characters.
        let gzip = try ChildProcess.start(
            "/bin/sh", ["-c", "exec gzip -dc <\"$0\"", path], output: .pipe)
        let file = try copy(path, "unpack") { try gzip.read(count: 1 << 16) }
        switch gzip.wait() {
        case .exited(0): return file
        case .exited(127):
            throw CommandFailure(
                "\(path) is compressed, and gzip is not installed; decompress the file first")
        default: throw CommandFailure("gzip cannot decompress \(path); see its message above")
        }
    }

    /// Copies the bytes that `next` returns, until it returns none, into an unnamed temporary file.
    private static func copy(
        _ name: String, _ verb: String, _ next: () throws -> [UInt8]
    ) throws -> any File {
        let file = try unnamed(RealFileSystem(), for: name)
        let progress = ProgressBar("\(verb) \(name)")
        defer { progress.end() }
        var end: UInt64 = 0
        // The length of the last line so far.
        var line = 0
        while true {
            let bytes = try next()
            if bytes.isEmpty { return file }
            try file.write(bytes, at: end)
            end += UInt64(bytes.count)
            progress.update(end, of: 0)
            let lineBreak = bytes.lastIndex(of: UInt8(ascii: "\n"))
            line = lineBreak.map { bytes.count - 1 - $0 } ?? line + bytes.count
            if line > ImportLines.longest { try checkLines(file) }
        }
    }

    /// Throws the failure for the first line that is too long.
    private static func checkLines(_ file: any File) throws {
        var lines = ImportLines(file)
        while try lines.skip() {}
    }

    /// Creates an unnamed temporary file; messages about it contain the name of the copied
    /// file.
    private static func unnamed(_ files: RealFileSystem, for source: String) throws -> any File {
        let folder = ThisProcess.environment("TMPDIR") ?? "/tmp"
        let name = ThisProcess.randomBytes(8).map { String($0, radix: 16) }.joined()
        let path = "\(folder)/tandem-import-\(name)"
        let file = try files.open(path, .createNew)
        try files.remove(path)
        file.renamed(to: source)
        return file
    }
}
