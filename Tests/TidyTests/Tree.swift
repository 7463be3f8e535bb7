import FoundationEssentials
import Glibc
import Testing

/// A source file: its path from the root, and its text.
struct SourceFile {
    let path: String
    let text: String
    /// The lines of the text, unchanged.
    let lines: [String]
    /// The lines with comments and the insides of string literals blanked out.
    let code: [String]
    /// The comments and string literals.
    let texts: [Code.Text]

    init(path: String, text: String) {
        self.path = path
        self.text = text
        let newline = UInt8(ascii: "\n")
        lines = Array(text.utf8).split(separator: newline, omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
        let code = Code(text)
        self.code = code.lines
        texts = code.texts
    }

    /// Returns whether the text contains any of these words.
    ///
    /// Comparing bytes is far faster than searching for characters.
    func mentions(_ words: String...) -> Bool {
        words.contains { word in
            text.withCString { text in word.withCString { strstr(text, $0) != nil } }
        }
    }

    /// The target that contains the file, or nil outside targets.
    var target: String? {
        let parts = path.split(separator: "/")
        return parts.count > 2 ? String(parts[1]) : nil
    }

    /// Whether the file belongs to a test target.
    var isTest: Bool { path.hasPrefix("Tests/") }
}

/// A violation of a rule.
struct Finding: Hashable, CustomStringConvertible {
    var path: String
    var line: Int?
    var message: String

    var description: String { path + (line.map { ":\($0)" } ?? "") + ": " + message }
}

/// The files of the package on disk.
enum Tree {
    /// The folder of `Package.swift`.
    static let root: String = {
        var parts = #filePath.split(separator: "/", omittingEmptySubsequences: false)
        parts.removeLast(3)
        return parts.joined(separator: "/")
    }()

    /// Returns the sorted names of a folder's entries, without dot-files.
    static func names(in folder: String = "") throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: root + "/" + folder)
            .filter { !$0.hasPrefix(".") }.sorted()
    }

    /// Returns the paths of all files and folders, without dot-files and build folders.
    static func paths() throws -> Set<String> {
        var paths: Set<String> = []
        for name in try names() {
            paths.insert(name)
            // Listing a file fails.
            let below = try? FileManager.default.subpathsOfDirectory(atPath: root + "/" + name)
            for path in below ?? [] where !path.contains(".build") {
                paths.insert("\(name)/\(path)")
            }
        }
        return paths
    }

    /// Returns the text of a file.
    static func text(_ path: String) throws -> String {
        let data = try #require(
            FileManager.default.contents(atPath: root + "/" + path), "\(path) is missing")
        return String(decoding: data, as: UTF8.self)
    }

    /// Returns whether the tree has a file or folder at a path.
    static func exists(_ path: String) -> Bool {
        FileManager.default.fileExists(atPath: root + "/" + path)
    }

    /// Returns all Markdown pages, including those of the top level.
    static func pages() throws -> [SourceFile] {
        let top = try names().filter { $0.hasSuffix(".md") }
        return try top.map { SourceFile(path: $0, text: try text($0)) } + files(".md")
    }

    /// All sources, read once.
    static let sources = Result { try files(".swift") }

    /// Returns all files of some folders whose names end in a suffix, without build folders.
    static func files(
        _ suffix: String, in folders: [String] = ["Sources", "Client", "Daemon", "Tests"]
    ) throws -> [SourceFile] {
        try folders.flatMap { folder -> [SourceFile] in
            try FileManager.default.subpathsOfDirectory(atPath: root + "/" + folder)
                .filter { $0.hasSuffix(suffix) && !$0.contains(".build") }.sorted()
                .map { SourceFile(path: "\(folder)/\($0)", text: try text("\(folder)/\($0)")) }
        }
    }
}
