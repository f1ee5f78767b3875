import ArgumentParser
import Sandbox

@main
enum Main {
    static func main() async {
        await SandboxCommand.main()
    }
}
