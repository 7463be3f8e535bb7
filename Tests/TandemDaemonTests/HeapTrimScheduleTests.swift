import TandemModel
import TandemQuery
import TandemWire
import Testing

@testable import TandemDaemon

/// The heap trim: memory freed by large reads is returned to the system once, some time after the
/// last of them.
@Suite(.ownThread) struct HeapTrimScheduleTests {
    @Test func `memory is returned some time after the last large read, and once`() {
        var freed = HeapTrimSchedule()
        let pause = DaemonLimits.heapTrimNanoseconds
        freed.recordRead(bytes: DaemonLimits.largeReadBytes, now: 100)
        freed.recordRead(bytes: 50 * DaemonLimits.largeReadBytes, now: 300)
        #expect(freed.due == 300 + pause)
        let taken = [100, 300, 400].map { freed.consumeDue($0 + pause, room: .max) }
        #expect(taken == [false, true, false] && freed.due == nil)
    }

    @Test func `law 8: memory is returned at once if it exceeds the room that reads leave`() {
        var freed = HeapTrimSchedule()
        let kept = Int(DaemonLimits.keptMemoryBytes)
        for now in UInt64(1)...3 {
            freed.recordRead(bytes: kept, now: now)
            // `kept` bytes are always kept, and more if the room allows.
            let isTaken = [Int(now) * kept, -1].map { freed.consumeDue(now, room: $0) }
            #expect(isTaken == [false, now == 2])
            if now == 2 { #expect(freed.bytes == 0 && freed.due == nil) }
        }
        #expect(freed.bytes == kept)
    }

    @Test func `law 8: refused fetches do not add up to more memory than reads may hold`() throws {
        var limits = DaemonLimits()
        limits.readBytes = 8 << 20
        let bench = try EngineBench(limits: limits)
        let client = try bench.client()
        let text = PropertyValue.string(String(repeating: "x", count: 60_000))
        for number in UInt64(1)...200 {
            try client.save([try bench.bench.insert("Node", number, ["name": text])])
        }
        var released = 0
        for _ in 0..<40 {
            // Each fetch is refused when it holds 8 MiB.
            let error = #expect(throws: TandemError.self) {
                try client.fetch(Fetch(request: FetchDescriptor(entity: "Node"), kind: .rows))
            }
            #expect(error?.code == .limitExceeded)
            if bench.engine.reads.consumeFreedDue() { released += 1 }
            #expect(
                bench.engine.reads.bytes.trim.bytes <= Int(DaemonLimits.keptMemoryBytes) + 2
                    * limits.readBytes
            )
        }
        #expect(released > 1)
    }

    @Test func `small reads schedule no trim`() {
        var freed = HeapTrimSchedule()
        freed.recordRead(bytes: DaemonLimits.largeReadBytes - 1, now: 100)
        let isTaken = freed.consumeDue(.max, room: 0)
        #expect(freed.due == nil && !isTaken)
    }
}
