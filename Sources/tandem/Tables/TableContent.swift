import Tandem
import TandemIO

/// The content of a table, decompressed if necessary.
enum TableContent {
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

    /// Opens a file; a gzip file is decompressed into an unnamed temporary file.
    ///
    /// The temporary file is in `TMPDIR`, needs as much space as the content, and is deleted when
    /// it is closed. Throws ``CommandFailure`` at the first line that is longer than a row can be.
    static func open(_ path: String) throws -> any File {
        guard RealFileSystem().exists(path) else {
            throw CommandFailure.noFile(path)
        }
        return try mapped {
            guard path.hasSuffix(ending) else { return try RealFileSystem().open(path, .read) }
            return try unpacked(path)
        }
    }

    private static let ending = ".gz"

    private static func unpacked(_ path: String) throws -> any File {
        let files = RealFileSystem()
        // The file is passed as standard input, because gzip would print its name without escaping
        // control characters.
        let gzip = try ChildProcess.start(
            "/bin/sh", ["-c", "exec gzip -dc <\"$0\"", path], output: .pipe)
        let file = try unnamed(files, for: path)
        let progress = ProgressBar("unpack \(path)")
        defer { progress.end() }
        var end: UInt64 = 0
        // The length of the last line so far.
        var line = 0
        while true {
            let bytes = try gzip.read(count: 1 << 16)
            if bytes.isEmpty { break }
            try file.write(bytes, at: end)
            end += UInt64(bytes.count)
            progress.update(end, of: 0)
            let lineBreak = bytes.lastIndex(of: UInt8(ascii: "\n"))
            line = lineBreak.map { bytes.count - 1 - $0 } ?? line + bytes.count
            if line > ImportLines.longest { try checkLines(file) }
        }
        switch gzip.wait() {
        case .exited(0): return file
        case .exited(127):
            throw CommandFailure(
                "\(path) is compressed, and gzip is not installed; decompress the file first")
        default: throw CommandFailure("gzip cannot decompress \(path); see its message above")
        }
    }

    /// Throws the failure for the first line that is too long.
    private static func checkLines(_ file: any File) throws {
        var lines = ImportLines(file)
        while try lines.skip() {}
    }

    /// Creates an unnamed temporary file; messages about it contain the name of the compressed
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
