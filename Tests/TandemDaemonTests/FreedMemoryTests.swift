import Testing

@testable import TandemDaemon

/// Memory that large reads freed goes back to the system once, a while after the last of them.
@Suite struct FreedMemoryTests {
    @Test func `it goes a while after the last large read, and once`() {
        var freed = FreedMemory()
        let pause = DaemonLimits.freedMemoryNanoseconds
        freed.noteRead(bytes: DaemonLimits.largeReadBytes, now: 100)
        freed.noteRead(bytes: 50 * DaemonLimits.largeReadBytes, now: 300)
        #expect(freed.due == 300 + pause)
        #expect(!freed.takeDue(100 + pause))
        #expect(freed.takeDue(300 + pause))
        #expect(!freed.takeDue(400 + pause) && freed.due == nil)
    }

    @Test func `small reads wake nobody`() {
        var freed = FreedMemory()
        freed.noteRead(bytes: DaemonLimits.largeReadBytes - 1, now: 100)
        #expect(freed.due == nil && !freed.takeDue(.max))
    }
}
