import Testing

@testable import tandem

/// The line of a progress bar, which fits the terminal and shows the remaining time.
@Suite(.ownThread) struct ProgressBarTests {
    @Test func `a bar fits its width, and shows percentage and remaining time`() {
        let line = { (done: UInt64, seconds: Double, width: Int) in
            ProgressBar.line("check", done, of: 200, seconds: seconds, width: width)
        }
        #expect(line(50, 3, 40) == "check [####............] 25 %, 9 s left")
        #expect(line(0, 3, 40).hasSuffix("] 0 %"))
        #expect(line(200, 3, 40) == "check [###############] 100 %, 0 s left")
        #expect(line(1, 60, 60).hasSuffix("] 0 %, 3 h 19 min left"))
        #expect(line(300, 3, 60).contains("100 %"))
        for width in 1...80 {
            #expect(line(77, 12, width).count < max(2, width), "\(width)")
        }
        #expect(ProgressBar.line("read", 77, of: 0, seconds: 3, width: 40) == "read 77")
    }
}
