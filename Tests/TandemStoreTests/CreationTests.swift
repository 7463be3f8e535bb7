import FoundationEssentials
import TandemModel
import TestSupport
import Testing

@testable import TandemStore

@Suite(.ownThread) struct CreationTests {
    @Test func `a half created store is created again`() throws {
        let scratch = try Scratch()
        let temporaryFolder = scratch.path + "/new"
        try FileManager.default.createDirectory(
            atPath: temporaryFolder, withIntermediateDirectories: true)
        for name in ["data.mdb", "lock.mdb"] {
            let zeros = Data(repeating: 0, count: 8_192)
            #expect(
                FileManager.default.createFile(
                    atPath: temporaryFolder + "/" + name, contents: zeros))
        }
        let store = try openStore(scratch.path)
        #expect(store.identity.log == LogID(high: 1, low: 2))
        #expect(store.appliedPosition == 0)
        store.close()
        #expect(!FileManager.default.fileExists(atPath: temporaryFolder))
        let identity = StoreIdentity(log: LogID(high: 8, low: 9), epoch: 3)
        let again = try Store.open(path: scratch.path, newIdentity: identity)
        #expect(again.identity.log == LogID(high: 1, low: 2))
        again.close()
    }
}
