import FuzzTargets
import TandemModel
import TandemQuery
import TestSupport
import Testing

@testable import TandemWire

/// Chunked answers, and their assembly.
@Suite struct AnswerChunkerTests {
    private func stored(_ number: UInt64, bytes: Int) -> StoredObject {
        StoredObject(
            object: ObjectReference(tag: UInt16(1 + number % 3), number: number), version: number,
            row: Row(bytes: (0..<bytes).map { UInt8(truncatingIfNeeded: $0) }))
    }

    private func places(_ count: Int, _ random: inout MessageMaker) -> ListPlacements {
        var places = ListPlacements(
            sections: ["a", "b", "c"], reached: [ObjectReference(tag: 9, number: 1)], hopCount: 2)
        for number in 0..<count {
            let key = (0..<random.int(0...19)).map { _ in UInt8(random.int(0...255)) }
            key.withUnsafeBytes {
                places.append(
                    ObjectReference(tag: UInt16(random.int(0...1)), number: UInt64(number)),
                    key: $0,
                    section: UInt32(random.int(0...2)))
            }
            places.append(link: UInt32(random.int(0...1)), hop: 0)
            places.append(link: UInt32(random.int(0...1)), hop: 1)
        }
        return places
    }

    private func answer(_ random: inout MessageMaker) -> FetchAnswer {
        let count = random.int(0...59)
        var answer = FetchAnswer(
            position: random.u64(), count: UInt64(count), related: [stored(7, bytes: 4)])
        switch random.int(0...3) {
        case 0:
            answer.objects = StoredObjects(
                (0..<count).map { stored(UInt64($0), bytes: random.int(0...39)) })
            if random.int(0...1) == 0 {
                answer.objects = answer.objects.arranged(count) { count - 1 - $0 }
            }
        case 1:
            answer.references = (0..<count).map { ObjectReference(tag: 3, number: UInt64($0)) }
        case 2: answer.values = (0..<count).map { [.int(Int64($0)), .string("row \($0)")] }
        default: answer.places = places(count, &random)
        }
        return answer
    }

    /// Encodes an answer in chunks and decodes it; returns the assembled answer and the number of
    /// messages.
    private func assembled(_ answer: FetchAnswer, chunkBytes: Int) throws -> (
        FetchAnswer?, messages: Int
    ) {
        var parts = AnswerChunker(answer, chunkBytes: chunkBytes)
        var (assembler, decoder) = (AnswerAssembler(), DaemonMessageDecoder())
        var (whole, messages): (FetchAnswer?, Int) = (nil, 0)
        while let message = parts.nextMessage() {
            messages += 1
            #expect(message.isLastOfAnswer == parts.isDone)
            var bytes: [UInt8] = []
            try FrameEncoder.encode(message, id: 5, into: &bytes)
            decoder.append(bytes)
            let envelope = try #require(try decoder.next())
            guard let complete = assembler.consume(envelope) else { continue }
            #expect(whole == nil && parts.isDone)
            if case .fetched(let answer) = complete.message { whole = answer }
        }
        return (whole, messages)
    }

    @Test func `an answer is the same however it is chunked`() throws {
        for run in 0..<200 as Range<UInt64> {
            var random = MessageMaker(run)
            let answer = answer(&random)
            let chunkBytes = 1 + random.int(0...399)
            let (whole, _) = try assembled(answer, chunkBytes: chunkBytes)
            #expect(whole == answer, "TANDEM_SEED=\(seed) run \(run), parts of \(chunkBytes) bytes")
        }
    }

    @Test func `a small answer is one message, a large one has chunks of about the given size`()
        throws
    {
        let objects = StoredObjects((0..<100).map { stored($0, bytes: 81) })
        let answer = FetchAnswer(position: 3, count: 100, objects: objects)
        #expect(try assembled(answer, chunkBytes: 10_000).messages == 1)
        // Headers of 18 bytes and a length byte: 10 objects of 100 bytes per chunk.
        #expect(try assembled(answer, chunkBytes: 1_000).messages == 11)
        // No object is split: each one is a chunk.
        #expect(try assembled(answer, chunkBytes: 1).messages == 101)
        #expect(try assembled(FetchAnswer(position: 3, count: 0), chunkBytes: 1).messages == 1)
    }

    @Test func `placements in a chunk that refer to elements missing in the list are refused`() {
        var random = MessageMaker()
        let whole = places(8, &random)
        for (sections, hopCount) in [(1, 2), (3, 1)] {
            var list = ListPlacements(
                sections: Array(whole.sections.prefix(sections)), reached: whole.reached,
                hopCount: hopCount
            )
            var part = whole.slice(0..<8)
            part.sectionRuns = [ListPlacements.Run(end: 8, value: 2)]
            let fits = list.append(part)
            #expect(!fits && list.count == 0)
        }
        var answer = ChunkedAnswer(FetchAnswer(position: 1, count: 8))
        let belongs = answer.append(FetchedChunk(places: whole.slice(0..<8), hasMore: false))
        #expect(!belongs)
        // More and fewer objects than the answer announces.
        let references = (1...8).map { ObjectReference(tag: 1, number: $0) }
        for (count, hasMore) in [(7, false), (8, true), (9, false)] as [(UInt64, Bool)] {
            var answer = ChunkedAnswer(FetchAnswer(position: 1, count: count))
            let belongs = answer.append(FetchedChunk(references: references, hasMore: hasMore))
            #expect(!belongs && answer.answer.references.isEmpty)
            let isTaken = answer.append(FetchedChunk(hasMore: true))
            #expect(!isTaken)
        }
        // Two kinds of content.
        var mixed = ChunkedAnswer(FetchAnswer(position: 1, count: 9))
        let isTaken = mixed.append(
            FetchedChunk(references: references, values: [[.int(1)]], hasMore: false))
        #expect(!isTaken)
        var list = ListPlacements(sections: whole.sections, reached: [], hopCount: 2)
        var part = whole.slice(0..<8)
        part.linkRuns[0] = [ListPlacements.Run(end: 8, value: 1)]
        let fits = list.append(part)
        #expect(!fits)
    }
}
