import FuzzTargets
import TandemModel
import TandemWire
import TestSupport
import Testing

@Suite struct EncodedOperationsTests {
    private func write(_ operation: SaveOperation, into writer: inout SaveOperationWriter) {
        switch operation {
        case .insert(let object, let values, let links):
            writer.insert(object, values: values.count)
            for item in values { writer.value(item.slot, item.value) }
            writer.links(links)
        case .update(let object, let version, let values, let links):
            writer.update(object, baseVersion: version, values: values.count)
            for item in values { writer.value(item.slot, item.value, base: item.base) }
            writer.links(links)
        case .delete(let object, let version): writer.delete(object, baseVersion: version)
        }
    }

    @Test func `operations written one by one have the bytes of a list`() throws {
        var maker = MessageMaker(77)
        for _ in 0..<500 {
            let operations = maker.list(6) { $0.operation() }
            var writer = SaveOperationWriter(count: operations.count)
            for operation in operations { write(operation, into: &writer) }
            let encoded = writer.finish()
            var request = maker.save()
            (request.operations, request.encoded) = (operations, nil)
            var other = request
            (other.operations, other.encoded) = ([], encoded)
            let frames = try [request, other].map {
                try TandemWireTests.frames([Envelope(id: 1, message: ClientMessage.save($0))])
            }
            #expect(frames[0] == frames[1], "seed \(seed)")
            #expect(request.inserts == other.inserts && request.isEmpty == other.isEmpty)
            #expect(encoded.count == operations.count, "seed \(seed)")
            #expect(try encoded.decoded() == operations, "seed \(seed)")
        }
    }
}
