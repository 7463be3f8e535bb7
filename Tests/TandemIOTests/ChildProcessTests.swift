import TandemIO
import Testing

@Suite(.ownThread) struct ChildProcessTests {
    @Test func `the output is read, and the exit code is kept`() throws {
        let child = try ChildProcess.start(
            "/bin/sh", ["-c", "read line; echo \"got $line\"; exit 7"], input: .pipe, output: .pipe)
        #expect(child.write("it\n"))
        let lines = StandardInput(descriptor: try #require(child.output))
        #expect(try lines.readLine() == Array("got it".utf8))
        #expect(try lines.readLine() == nil)
        #expect(child.wait() == .exited(7))
        #expect(child.status == .exited(7))
    }

    @Test func `a child sees the end of its input`() throws {
        let child = try ChildProcess.start("/bin/cat", [], input: .pipe, output: .null)
        #expect(child.status == nil)
        child.closeInput()
        child.closeInput()
        #expect(!child.write("too late"))
        #expect(child.wait() == .exited(0))
    }

    @Test func `signals end a child, and none is sent afterwards`() throws {
        let asked = try ChildProcess.start("/bin/cat", [], input: .pipe, output: .null)
        asked.terminate()
        #expect(asked.wait() == .signalled(15))
        asked.kill()
        #expect(asked.status == .signalled(15))
    }

    @Test func `a released child is killed`() throws {
        var child: ChildProcess? = try .start("/bin/cat", [], input: .pipe, output: .null)
        let number = try #require(child?.processID)
        #expect(RealFileSystem().exists("/proc/\(number)"))
        child = nil
        #expect(!RealFileSystem().exists("/proc/\(number)"))
    }

    @Test func `a missing program is an error`() {
        #expect(throws: IOError.self) { try ChildProcess.start("/nowhere/to/be/found", []) }
    }
}
