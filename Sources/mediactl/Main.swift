import MediaCLI

@main
enum Main {
    static func main() async {
        await MediactlCommand.main()
    }
}
