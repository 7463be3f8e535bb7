import FoundationEssentials
import FuzzTargets
import TandemIO
import TestSupport
import Testing

/// The targets of `Tests/Fuzzing`, without libFuzzer: the committed corpus, and a few thousand
/// mutations of it.
@Suite(.ownThread) struct FuzzTests {
    private static let folder: String = {
        var parts = #filePath.split(separator: "/", omittingEmptySubsequences: false)
        parts.removeLast(2)
        return parts.joined(separator: "/") + "/Fuzzing"
    }()

    private static func corpus(_ name: String) throws -> [[UInt8]] {
        let path = "\(folder)/Corpus/\(name).base64"
        let bytes = try RealFileSystem().contents(of: path, maximumBytes: 16 << 20)
        return Corpus.inputs(of: String(decoding: bytes, as: UTF8.self))
    }

    @Test(arguments: FuzzTarget.all.map(\.name))
    func `law 7: no input of the corpus breaks a property`(name: String) throws {
        let target = try #require(FuzzTarget.named(name))
        let corpus = try Self.corpus(name)
        #expect(corpus.count >= 10, "the corpus of \(name) is missing")
        for input in corpus + target.seeds() { tryOut(input, target) }
    }

    @Test(arguments: FuzzTarget.all.map(\.name))
    func `law 7: no change of an input breaks a property`(name: String) throws {
        let target = try #require(FuzzTarget.named(name))
        var mutator = Mutator(try Self.corpus(name) + target.seeds(), seed: seed)
        for _ in 0..<500 { tryOut(mutator.next(), target) }
    }

    /// The time for each target under libFuzzer; none without `TANDEM_FUZZ`.
    private static let seconds = ThisProcess.environment("TANDEM_FUZZ").flatMap { UInt32($0) }

    @Test(
        .enabled(if: seconds != nil, "TANDEM_FUZZ=SECONDS builds libFuzzer's program and runs it"))
    func `law 7: libFuzzer finds nothing`() throws {
        let words = ["all", String(Self.seconds ?? 0), "seed=\(seed)"]
        let run = try ChildProcess.start(Self.folder + "/run.sh", words, output: .pipe)
        var output: [UInt8] = []
        while case let bytes = try run.read(count: 4096), !bytes.isEmpty { output += bytes }
        #expect(run.wait() == .exited(0), "\(String(decoding: output, as: UTF8.self))")
    }

    private func tryOut(_ input: [UInt8], _ target: FuzzTarget) {
        do {
            try target.run(input)
        } catch {
            Issue.record(
                """
                \(target.name): \(error), TANDEM_SEED=\(seed), input \
                \(Data(input).base64EncodedString())
                """)
        }
    }
}
