import TandemModel
import Testing

@testable import Tandem

/// Objects in the wrong place: objects of another context, or of an entity that is not the
/// relationship's destination.
@MainActor @Suite struct ForeignObjectTests {
    @Test func `an edited object is removed by identity, not as another of the same serial`()
        throws
    {
        let container = try FakeDaemon(buckets).container()
        let ours = container.makeContext(name: "ours")
        let child = ours.makeChild(name: "child")
        let content = try ours.insert(Content.self)
        let other = try child.insert(Content.self)
        #expect(content.record.pending.serial == other.record.pending.serial)
        ours.editor.removeEdited(other.record)
        #expect(ours.editor.editedObjects == [content] && ours.hasChanges)
    }

    private func message(_ result: ExitTest.Result?) -> String {
        String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    }

    @Test func `an object is refreshed by its own context alone`() async {
        let result = await #expect(
            processExitsWith: .failure, observing: [\.standardErrorContent]
        ) {
            try await MainActor.run {
                let ours = try FakeDaemon(buckets).container().makeContext(name: "ours")
                let child = ours.makeChild(name: "child")
                ours.refresh(try child.insert(Content.self), mergeChanges: false)
            }
        }
        #expect(message(result).contains("belongs to another context"))
    }

    @Test func `a member of another context is not added`() async {
        let result = await #expect(
            processExitsWith: .failure, observing: [\.standardErrorContent]
        ) {
            try await MainActor.run {
                let ours = try FakeDaemon(buckets).container().makeContext(name: "ours")
                let child = ours.makeChild(name: "child")
                try ours.insert(Bucket.self).add(try child.insert(Content.self), to: "contents")
            }
        }
        #expect(message(result).contains("Objects of different contexts"))
    }

    @Test func `a member of another context is not removed`() async {
        let result = await #expect(
            processExitsWith: .failure, observing: [\.standardErrorContent]
        ) {
            try await MainActor.run {
                let ours = try FakeDaemon(buckets).container().makeContext(name: "ours")
                let child = ours.makeChild(name: "child")
                try ours.insert(Bucket.self).remove(
                    try child.insert(Content.self), from: "contents")
            }
        }
        #expect(message(result).contains("Objects of different contexts"))
    }

    @Test func `a member of another entity is not added`() async {
        let result = await #expect(
            processExitsWith: .failure, observing: [\.standardErrorContent]
        ) {
            try await MainActor.run {
                let ours = try FakeDaemon(buckets).container().makeContext(name: "ours")
                let bucket = try ours.insert(Bucket.self)
                bucket.add(try ours.insert(Bucket.self), to: "contents")
            }
        }
        #expect(message(result).contains("cannot refer to an object of Bucket"))
    }

    @Test func `a to-one relationship does not refer to another entity`() async {
        let result = await #expect(
            processExitsWith: .failure, observing: [\.standardErrorContent]
        ) {
            try await MainActor.run {
                let ours = try FakeDaemon(buckets).container().makeContext(name: "ours")
                let content = try ours.insert(Content.self)
                content.setObject(try ours.insert(Content.self), for: "bucket")
            }
        }
        #expect(message(result).contains("cannot refer to an object of Content"))
    }
}
