import Glibc
import TandemIO
import TestSupport
import Testing

/// `replace` on paths that are not regular files.
@Suite(.ownThread) struct ReplaceTests {
    private let files = RealFileSystem()

    private func content(_ path: String) throws -> String {
        String(decoding: try files.contents(of: path, maximumBytes: 100), as: UTF8.self)
    }

    @Test func `a file is replaced, and no temporary file is left`() throws {
        let scratch = try Scratch("replace")
        let path = scratch.path + "/a"
        for text in ["one", "two"] {
            try files.checkReplaceable(path)
            try files.replace(path, with: Array(text.utf8), isFlushed: text == "two")
            #expect(try content(path) == text)
        }
        #expect(try files.list(scratch.path) == ["a"])
    }

    @Test func `the target of a link is replaced, and the link stays`() throws {
        let scratch = try Scratch("replace-link")
        let (link, target) = (scratch.path + "/link", scratch.path + "/target")
        try files.replace(target, with: Array("old".utf8))
        #expect(symlink("target", link) == 0)
        try files.replace(link, with: Array("new".utf8))
        #expect(try content(target) == "new")
        var found = stat()
        #expect(lstat(link, &found) == 0 && found.st_mode & S_IFMT == S_IFLNK)
        #expect(try files.list(scratch.path) == ["link", "target"])
    }

    @Test func `a dangling link is refused and stays`() throws {
        let scratch = try Scratch("replace-nowhere")
        let link = scratch.path + "/link"
        #expect(symlink("none", link) == 0)
        let error = #expect(throws: IOError.self) { try files.replace(link, with: [1]) }
        #expect(error?.path == link && error?.isNotFound == true)
        #expect(throws: IOError.self) { try files.checkReplaceable(link) }
        #expect(try files.list(scratch.path) == ["link"])
    }

    @Test(arguments: [false, true])
    func `a pipe is written to and stays, also through a link`(_ isLinked: Bool) throws {
        let scratch = try Scratch("replace-pipe-\(isLinked)")
        let pipe = scratch.path + "/pipe"
        #expect(mkfifo(pipe, 0o600) == 0)
        let path = isLinked ? scratch.path + "/link" : pipe
        if isLinked { #expect(symlink("pipe", path) == 0) }
        // Open at both ends, so that neither waits for the other.
        let descriptor = open(pipe, O_RDWR | O_CLOEXEC)
        defer { close(descriptor) }
        try files.checkReplaceable(path)
        try files.replace(path, with: Array("text".utf8))
        var bytes = [UInt8](repeating: 0, count: 10)
        #expect(read(descriptor, &bytes, 10) == 4 && bytes.starts(with: "text".utf8))
        var found = stat()
        #expect(lstat(pipe, &found) == 0 && found.st_mode & S_IFMT == S_IFIFO)
    }

    @Test func `an error names the given path`() throws {
        let scratch = try Scratch("replace-error")
        let path = scratch.path + "/none/a"
        let early = #expect(throws: IOError.self) { try files.checkReplaceable(path) }
        #expect(early?.path == path && early?.isNotFound == true)
        let late = #expect(throws: IOError.self) { try files.replace(path, with: [1]) }
        #expect(late?.path == path && late?.isNotFound == true)
        let error = #expect(throws: IOError.self) { try files.checkReplaceable(scratch.path) }
        #expect(error?.errno == EISDIR)
    }
}
