import Testing

@testable import TandemDaemon

/// Memory that large reads freed goes back to the system once, a while after the last of them.
@Suite(.ownThread) struct FreedMemoryTests {
    @Test func `it goes a while after the last large read, and once`() {
        var freed = FreedMemory()
        let pause = DaemonLimits.freedMemoryNanoseconds
        freed.noteRead(bytes: DaemonLimits.largeReadBytes, now: 100)
        freed.noteRead(bytes: 50 * DaemonLimits.largeReadBytes, now: 300)
        #expect(freed.due == 300 + pause)
        let taken = [100, 300, 400].map { freed.takeDue($0 + pause) }
        #expect(taken == [false, true, false] && freed.due == nil)
    }

    @Test func `small reads wake nobody`() {
        var freed = FreedMemory()
        freed.noteRead(bytes: DaemonLimits.largeReadBytes - 1, now: 100)
        let isTaken = freed.takeDue(.max)
        #expect(freed.due == nil && !isTaken)
    }
}
